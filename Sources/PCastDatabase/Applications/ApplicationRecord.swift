public import PCastCore

/// An application and the secret that signs its tokens.
public struct ApplicationRecord: Sendable, Hashable {
    /// The identifier of the application.
    public var id: ApplicationID
    /// The secret that signs its tokens.
    public var secret: String

    /// Creates a record.
    public init(id: ApplicationID, secret: String) {
        self.id = id
        self.secret = secret
    }
}

extension ApplicationRecord: CustomStringConvertible {
    /// The identifier without the secret.
    public var description: String { "application \(id)" }
}
