import PCastMedia

/// A TCP connection that one loop accepted and that belongs to another one, according to its first frame.
public struct ArrivedConnection: Sendable {
    let descriptor: Descriptor
    let local: TransportAddress
    let remote: TransportAddress
    /// The bytes that were read, beginning with the first frame.
    let bytes: [UInt8]
}
