import PCastMedia

/// A TCP connection that one loop has accepted and that is another's: whose peer it is, its first frame has told.
public struct ArrivedConnection: Sendable {
    let descriptor: Descriptor
    let local: TransportAddress
    let remote: TransportAddress
    /// When it is closed where no peer has authenticated itself on it.
    let deadline: Instant
    /// What was read of it, the first frame included.
    let bytes: [UInt8]
}
