public import PCastMedia

/// A client's session with the platform.
public struct SessionRecord: Sendable, Hashable {
    public var id: SessionID
    public var application: ApplicationID
    public var opened: WallTime
    /// Whose token began it, as far as that is known: nobody else may resume it.
    public var owner: String?

    public init(id: SessionID, application: ApplicationID, opened: WallTime, owner: String? = nil) {
        self.owner = owner
        self.id = id
        self.application = application
        self.opened = opened
    }
}
