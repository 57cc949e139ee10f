/// A stream, as Phenix names it: what one publisher publishes and many view.
public struct StreamID: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ text: String) { description = text }
}

/// One authenticated conversation of a client with the platform.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ text: String) { description = text }
}

/// An application: whose tokens are signed with one secret.
public struct ApplicationID: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ text: String) { description = text }
}
