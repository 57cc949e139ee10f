/// The statistics of a publisher: counters since it began, rates and times of the last second.
public struct PublisherStatistics: Hashable, Sendable, Encodable {
    /// The number of frames from the source, including those without subscribers.
    public var framesCaptured = 0
    /// The number of frames that were encoded.
    public var framesEncoded = 0
    /// The number of frames that were dropped because the encoder was too slow.
    public var framesDropped = 0
    /// The sent bit rate in bits per second, without RTP headers.
    public var bitrate = 0
    /// The target bit rate of the video encoder in bits per second.
    public var targetBitrate = 0
    /// The number of sent RTP packets.
    public var packetsSent = 0
    /// The number of retransmitted RTP packets.
    public var packetsRetransmitted = 0
    /// The round-trip time in milliseconds; nil before it was measured.
    public var roundTripTime: Double?
    /// The mean encode time of a frame in milliseconds; nil without an encoder.
    public var encodeTime: Double?
    /// The number of video layers with subscribers; see ``PublishOptions/layers``.
    public var layersEncoded = 0
    /// Whether the stream has subscribers; see ``Publisher/hasSubscribers``.
    public var hasSubscribers = true

    enum CodingKeys: CodingKey {
        case framesCaptured, framesEncoded, framesDropped, bitrate, targetBitrate, packetsSent, packetsRetransmitted
        case roundTripTime, encodeTime, layersEncoded, hasSubscribers
    }

    /// Encodes all values, with null for those that were not measured. Throws an error of the encoder.
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
