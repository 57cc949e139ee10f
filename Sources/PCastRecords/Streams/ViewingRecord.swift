public import PCastMedia

/// One viewer's watching of one stream.
public struct ViewingRecord: Sendable, Hashable {
    /// The viewer's own stream id.
    public var id: StreamID
    /// The stream watched.
    public var stream: StreamID
    public var application: ApplicationID
    public var session: SessionID?
    /// Those that the viewer's token applied.
    public var tags: [String]
    public var began: WallTime
    /// Nil while it lasts.
    public var ended: WallTime?
    public var reason: String?

    public init(
        id: StreamID, stream: StreamID, application: ApplicationID, session: SessionID?, tags: [String],
        began: WallTime, ended: WallTime? = nil, reason: String? = nil
    ) {
        self.id = id
        self.stream = stream
        self.application = application
        self.session = session
        self.tags = tags
        self.began = began
        self.ended = ended
        self.reason = reason
    }
}
