public import PCastMedia

/// An application and the secret that its tokens are signed with.
public struct ApplicationRecord: Sendable, Hashable {
    public var id: ApplicationID
    public var secret: String

    public init(id: ApplicationID, secret: String) {
        self.id = id
        self.secret = secret
    }
}

extension ApplicationRecord: CustomStringConvertible {
    /// Without the secret.
    public var description: String { "application \(id)" }
}
