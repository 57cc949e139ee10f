public import PCastMedia

/// A stream that is or was published.
public struct StreamRecord: Sendable, Hashable {
    public var id: StreamID
    public var application: ApplicationID
    public var session: SessionID?
    public var tags: [String]
    public var capabilities: [String]
    /// When its publisher came.
    public var starting: WallTime
    /// When its publisher was let in; nil when it never was.
    public var started: WallTime?
    /// Nil while it lasts.
    public var ended: WallTime?
    /// As `StreamEnded.reason` on the wire: a known word, or the application's own.
    public var reason: String?
    public var counts: ViewerCounts
    /// Who published it, so that nobody else goes on with it; nil where that is its session's alone.
    public var publisher: String?

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

    /// From its start to its end; nil before, and for one that never started.
    public var duration: TimeSpan? {
        guard let started, let ended else { return nil }
        return max(ended - started, .zero)
    }
}

/// Who watched a stream, in numbers.
public struct ViewerCounts: Sendable, Hashable {
    /// All that ever came.
    public var views: Int
    /// The most at one time.
    public var mostViewers: Int

    public init(views: Int = 0, mostViewers: Int = 0) {
        self.views = views
        self.mostViewers = mostViewers
    }
}
