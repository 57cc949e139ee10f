/// What a publisher did: counts since it began, rates and times of the last second.
public struct PublisherStatistics: Hashable, Sendable, Encodable {
    /// Pictures that came from the source, those included that nobody took.
    public var framesCaptured = 0
    public var framesEncoded = 0
    /// Pictures that the encoder had no time for.
    public var framesDropped = 0
    /// Bits a second that were sent, RTP headers not counted.
    public var bitrate = 0
    /// Bits a second that the video encoder aims at.
    public var targetBitrate = 0
    public var packetsSent = 0
    public var packetsRetransmitted = 0
    /// Milliseconds; nil before it was measured.
    public var roundTripTime: Double?
    /// Milliseconds that a picture took in the encoder; nil without one.
    public var encodeTime: Double?
    /// Layers of the picture that somebody takes; see ``PublishOptions/layers``.
    public var layersEncoded = 0
    /// Whether anybody takes the stream; see ``Publisher/hasSubscribers``.
    public var hasSubscribers = true

    enum CodingKeys: CodingKey {
        case framesCaptured, framesEncoded, framesDropped, bitrate, targetBitrate, packetsSent, packetsRetransmitted
        case roundTripTime, encodeTime, layersEncoded, hasSubscribers
    }

    /// Every name stands in the output, with null where nothing was measured.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(framesCaptured, forKey: .framesCaptured)
        try container.encode(framesEncoded, forKey: .framesEncoded)
        try container.encode(framesDropped, forKey: .framesDropped)
        try container.encode(bitrate, forKey: .bitrate)
        try container.encode(targetBitrate, forKey: .targetBitrate)
        try container.encode(packetsSent, forKey: .packetsSent)
        try container.encode(packetsRetransmitted, forKey: .packetsRetransmitted)
        try container.encode(roundTripTime, forKey: .roundTripTime)
        try container.encode(encodeTime, forKey: .encodeTime)
        try container.encode(layersEncoded, forKey: .layersEncoded)
        try container.encode(hasSubscribers, forKey: .hasSubscribers)
    }
}
