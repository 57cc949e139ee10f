public import PCastCore

/// A live or ended stream.
public struct StreamRecord: Sendable, Hashable {
    /// The identifier of the stream.
    public var id: StreamID
    /// The application of the stream.
    public var application: ApplicationID
    /// The session of the publisher; nil if there is none.
    public var session: SessionID?
    /// The tags of the stream.
    public var tags: [String]
    /// The capabilities of the stream.
    public var capabilities: [String]
    /// The time at which the publisher connected.
    public var starting: WallTime
    /// The time at which the stream started; nil if it did not start.
    public var started: WallTime?
    /// The time at which the stream ended; nil while it is live.
    public var ended: WallTime?
    /// The end reason as in `StreamEnded.reason` of the protocol: a standard word, or text of the application.
    public var reason: String?
    /// The numbers of subscribers.
    public var counts: ViewerCounts
    /// The owner of the publisher's token, who alone may resume the stream; nil if only its session may.
    public var publisher: String?

    /// Creates a record.
    public init(
        id: StreamID, application: ApplicationID, session: SessionID?, tags: [String], capabilities: [String],
        starting: WallTime, started: WallTime? = nil, ended: WallTime? = nil, reason: String? = nil,
        counts: ViewerCounts = ViewerCounts(), publisher: String? = nil
    ) {
        self.id = id
        self.application = application
        self.session = session
        self.tags = tags
        self.capabilities = capabilities
        self.starting = starting
        self.started = started
        self.ended = ended
        self.reason = reason
        self.counts = counts
        self.publisher = publisher
    }

    /// The duration from start to end; nil while the stream is live, and if it did not start.
    public var duration: TimeSpan? {
        guard let started, let ended else { return nil }
        return max(ended - started, .zero)
    }
}

/// The numbers of a stream's viewings: in total, and the maximum at the same time.
public struct ViewerCounts: Sendable, Hashable {
    /// The number of viewings since the stream began.
    public var views: Int
    /// The maximum number of simultaneous subscribers.
    public var mostViewers: Int

    /// Creates counts.
    public init(views: Int = 0, mostViewers: Int = 0) {
        self.views = views
        self.mostViewers = mostViewers
    }
}
