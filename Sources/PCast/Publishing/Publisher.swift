public import PCastCore

/// A stream that this program publishes (Phenix: `PhenixPublisher`). It goes on until it is stopped or ended, or its
/// source or its ``PCast`` is.
public final class Publisher: Sendable {
    /// The platform's name of the stream, by which viewers ask for it.
    public let streamID: StreamID

    /// Nil for a stream whose media the platform brings from an address itself.
    private let publishing: Publishing?
    private let life: StreamLifecycle
    private let limits: BandwidthLimits

    init(streamID: StreamID, publishing: Publishing) {
        self.streamID = streamID
        self.publishing = publishing
        life = publishing.life
        limits = publishing.limits
    }

    /// Of a stream that the platform works on.
    init(streamID: StreamID, life: StreamLifecycle) {
        self.streamID = streamID
        publishing = nil
        self.life = life
        limits = BandwidthLimits()
    }

    // MARK: The end

    public var hasEnded: Bool { life.endedInfo != nil }

    /// How the stream ended; nil while it goes on.
    public var endedInfo: StreamEndedInfo? { life.endedInfo }

    /// The same as a value that is observed: nil at first, and how the stream ended from then on (Phenix:
    /// `getObservableEndedInfo`).
    public var observableEndedInfo: ObservableValue<StreamEndedInfo?> { life.observableEndedInfo }

    /// Returns when the stream has ended.
    public var ended: StreamEndedInfo { get async { await life.ended } }

    /// Calls back once: when the stream ends, or at once if it has ended (seed 004, `setPublisherEndedCallback`).
    public func setPublisherEndedCallback(
        _ callback: @escaping @Sendable (Publisher, StreamEndedReason, _ reasonDescription: String) -> Void
    ) {
        life.whenEnded { info in callback(self, info.reason, info.reasonDescription) }
    }

    /// Stops publishing; harmless when called again. The sources go on.
    ///
    /// - Parameter reason: is told the platform and the viewers; a word of ``StreamEndedReason``, or any other.
    public func stop(reason: String = StreamEndedReason.ended.rawValue) {
        life.end(StreamEndedInfo(ender: .stop, wire: reason))
    }

    // MARK: What gets through

    /// What was done, each second from now on, until the stream ends; nothing where the platform brings the media. Each
    /// access makes a stream of its own.
    public var statistics: AsyncStream<PublisherStatistics> {
        publishing?.statistics.listen() ?? AsyncStream { $0.finish() }
    }

    /// What was done since the stream began; rates of the last second.
    public var currentStatistics: PublisherStatistics {
        get async { await publishing?.measure() ?? PublisherStatistics() }
    }

    /// What was counted since the stream began, under WebRTC's own names (W3C webrtc-stats); after its end, as it was then.
    public func getStats() async -> RTCStatsReport { await publishing?.stats() ?? RTCStatsReport() }

    /// What the platform says of the way to it, or what is known here better.
    public var dataQuality: DataQuality { life.dataQuality }

    /// Each change of ``dataQuality`` from now on, until the stream ends.
    public var dataQualities: AsyncStream<DataQuality> { life.qualities.listen() }

    /// Calls back at each change, until the stream ends (seed 004, `setDataQualityChangedCallback`).
    public func setDataQualityChangedCallback(
        _ callback: @escaping @Sendable (Publisher, DataQuality.Status, DataQuality.Reason) -> Void
    ) {
        let qualities = dataQualities
        Task {
            for await quality in qualities { callback(self, quality.status, quality.reason) }
        }
    }

    /// Whether anybody takes the stream: false while the platform says that nobody has for two seconds. The encoders rest
    /// then. True until it has said so, and with a platform that does not.
    public var hasSubscribers: Bool { publishing?.hasSubscribers ?? true }

    /// Each change of ``hasSubscribers`` from now on, until the stream ends. Each access makes a stream of its own.
    public var watchedChanges: AsyncStream<Bool> {
        publishing?.watched.listen() ?? AsyncStream { $0.finish() }
    }

    /// Limits what the video encoder makes, as long as the answer is held; of several limits the lowest counts. Of no
    /// effect on a stream whose media the platform brings itself.
    public func limitBandwidth(_ bitrate: Bitrate) -> BandwidthLimit { limits.add(bitrate) }
}
