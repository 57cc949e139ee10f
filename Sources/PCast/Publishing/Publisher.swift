public import PCastCore

/// A stream that this program publishes (Phenix: `PhenixPublisher`). It lasts until it is stopped, the platform ends
/// it, or its source or its ``PCast`` ends.
public final class Publisher: Sendable {
    /// The platform's ID of the stream, with which viewers subscribe.
    public let streamID: StreamID

    /// The media of the stream; nil if the platform pulls or pushes the media itself.
    let publishing: Publishing?
    /// The session, which sends captions.
    let session: SignalingClient
    private let lifecycle: StreamLifecycle
    private let limits: BandwidthLimits

    init(streamID: StreamID, publishing: Publishing, session: SignalingClient) {
        self.streamID = streamID
        self.publishing = publishing
        self.session = session
        lifecycle = publishing.lifecycle
        limits = publishing.limits
    }

    /// Creates the publisher of a stream whose media the platform pulls or pushes.
    init(streamID: StreamID, lifecycle: StreamLifecycle, session: SignalingClient) {
        self.streamID = streamID
        publishing = nil
        self.session = session
        self.lifecycle = lifecycle
        limits = BandwidthLimits()
    }

    // MARK: The end

    /// Whether the stream has ended.
    public var hasEnded: Bool { lifecycle.endedInfo != nil }

    /// The cause of the end; nil before the stream has ended.
    public var endedInfo: StreamEndedInfo? { lifecycle.endedInfo }

    /// The cause of the end as an observable value, which is nil before the end (Phenix: `getObservableEndedInfo`).
    public var observableEndedInfo: ObservableValue<StreamEndedInfo?> { lifecycle.observableEndedInfo }

    /// The cause of the end; waits until the stream has ended.
    public var ended: StreamEndedInfo { get async { await lifecycle.ended } }

    /// Calls `action` once: when the stream ends, or at once if it has ended.
    package func whenEnded(_ action: @escaping @Sendable (StreamEndedInfo) -> Void) { lifecycle.whenEnded(action) }

    /// Stops publishing. The sources keep running. It has no effect when it is called again.
    ///
    /// - Parameter reason: The reason for the platform and the viewers: a raw value of ``StreamEndedReason`` or any
    ///   other text.
    public func stop(reason: String = StreamEndedReason.ended.rawValue) {
        lifecycle.end(StreamEndedInfo(ender: .stop, wire: reason))
    }

    // MARK: Statistics

    /// The statistics of each second until the stream ends. Nothing is emitted if the platform pulls or pushes the
    /// media. Each access creates a new stream.
    public var statistics: AsyncStream<PublisherStatistics> {
        publishing?.statistics.listen() ?? AsyncStream { $0.finish() }
    }

    /// The counters since the stream began, and the rates of the last second.
    public var currentStatistics: PublisherStatistics {
        get async { await publishing?.measure() ?? PublisherStatistics() }
    }

    /// Returns the statistics of the W3C (webrtc-stats) since the stream began. After the end they are the last ones.
    public func getStats() async -> RTCStatsReport { await publishing?.stats() ?? RTCStatsReport() }

    /// The data quality that the platform reports, or that the client has detected itself.
    public var dataQuality: DataQuality { lifecycle.dataQuality }

    /// The changes of ``dataQuality`` until the stream ends.
    public var dataQualities: AsyncStream<DataQuality> { lifecycle.qualities.listen() }

    /// Whether the stream has subscribers. It is false while the platform reports that nobody has subscribed for two
    /// seconds, and the encoders are paused then. It is true before such a report.
    public var hasSubscribers: Bool { publishing?.hasSubscribers ?? true }

    /// The changes of ``hasSubscribers`` until the stream ends. Each access creates a new stream.
    public var hasSubscribersChanges: AsyncStream<Bool> {
        publishing?.watched.listen() ?? AsyncStream { $0.finish() }
    }

    /// Limits the bit rate of the video encoder while the returned object exists. The lowest of several limits applies.
    /// It has no effect if the platform pulls or pushes the media itself.
    public func limitBandwidth(_ bitrate: Bitrate) -> BandwidthLimit { limits.add(bitrate) }
}

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
    /// The round-trip time; nil before it was measured.
    public var roundTripTime: Duration?
    /// The mean encode time of a frame; nil without an encoder.
    public var encodeTime: Duration?
    /// The number of video layers with subscribers; see ``PublishOptions/layers``.
    public var layersEncoded = 0
    /// Whether the stream has subscribers; see ``Publisher/hasSubscribers``.
    public var hasSubscribers = true

    enum CodingKeys: CodingKey {
        case framesCaptured, framesEncoded, framesDropped, bitrate, targetBitrate, packetsSent, packetsRetransmitted
        case roundTripTime, encodeTime, layersEncoded, hasSubscribers
    }

    /// Encodes all values, times in milliseconds, with null for those that were not measured. Throws an error of the
    /// encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(framesCaptured, forKey: .framesCaptured)
        try container.encode(framesEncoded, forKey: .framesEncoded)
        try container.encode(framesDropped, forKey: .framesDropped)
        try container.encode(bitrate, forKey: .bitrate)
        try container.encode(targetBitrate, forKey: .targetBitrate)
        try container.encode(packetsSent, forKey: .packetsSent)
        try container.encode(packetsRetransmitted, forKey: .packetsRetransmitted)
        try container.encode(roundTripTime?.milliseconds, forKey: .roundTripTime)
        try container.encode(encodeTime?.milliseconds, forKey: .encodeTime)
        try container.encode(layersEncoded, forKey: .layersEncoded)
        try container.encode(hasSubscribers, forKey: .hasSubscribers)
    }
}
