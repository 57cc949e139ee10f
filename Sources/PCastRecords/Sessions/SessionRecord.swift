public import PCastMedia

/// A client's session with the platform.
public struct SessionRecord: Sendable, Hashable {
    public var id: SessionID
    public var application: ApplicationID
    public var opened: WallTime

    public init(id: SessionID, application: ApplicationID, opened: WallTime) {
        self.id = id
        self.application = application
        self.opened = opened
    }
}
