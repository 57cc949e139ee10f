public import PCastCore

/// A session of a client with the platform.
public struct SessionRecord: Sendable, Hashable {
    /// The identifier of the session.
    public var id: SessionID
    /// The application of the session.
    public var application: ApplicationID
    /// The time at which the session began.
    public var opened: WallTime
    /// The owner of the token that began the session, who alone may resume it; nil if unknown.
    public var owner: String?

    /// Creates a record.
    public init(id: SessionID, application: ApplicationID, opened: WallTime, owner: String? = nil) {
        self.owner = owner
        self.id = id
        self.application = application
        self.opened = opened
    }
}
