/// The identifier of a stream, which one publisher publishes and many subscribers view (Phenix: stream ID).
public struct StreamID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as text.
    public let description: String
    /// Creates an identifier from its text.
    public init(_ text: String) { description = text }
}

/// The identifier of an authenticated session of a client with the platform.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as text.
    public let description: String
    /// Creates an identifier from its text.
    public init(_ text: String) { description = text }
}

/// The identifier of an application. One secret signs the tokens of an application.
public struct ApplicationID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as text.
    public let description: String
    /// Creates an identifier from its text.
    public init(_ text: String) { description = text }
}
