public import PCastCore

/// The viewing of a stream by one subscriber.
public struct ViewingRecord: Sendable, Hashable {
    /// The identifier of the subscriber's own stream.
    public var id: StreamID
    /// The identifier of the viewed stream.
    public var stream: StreamID
    /// The application.
    public var application: ApplicationID
    /// The session of the subscriber; nil if there is none.
    public var session: SessionID?
    /// The tags of the subscriber's token.
    public var tags: [String]
    /// The time at which the viewing began.
    public var began: WallTime
    /// The time at which the viewing ended; nil while it lasts.
    public var ended: WallTime?
    /// The end reason; nil while the viewing lasts.
    public var reason: String?

    /// Creates a record.
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
