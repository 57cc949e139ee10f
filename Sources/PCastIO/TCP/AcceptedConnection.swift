import PCastCore

/// A TCP connection that one loop accepted and that belongs to another one, according to its first frame.
public struct AcceptedConnection: Sendable {
    let descriptor: Descriptor
    let local: TransportAddress
    let remote: TransportAddress
    /// When it is closed where no peer has authenticated itself on it.
    let deadline: Instant
    /// The bytes that were read, beginning with the first frame.
    let bytes: [UInt8]
}
