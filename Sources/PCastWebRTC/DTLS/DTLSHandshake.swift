public import PCastMedia

/// A handshake that ends with keys for SRTP (RFC 5764), driven like a machine.
///
/// A protocol, so that seeded runs of the core can agree on keys without chance or OpenSSL.
public protocol DTLSHandshake: AnyObject {
    /// The first valid check has passed: a client may speak now, a server listens (DTLS10).
    func start(at now: Instant)

    /// Takes in one datagram. The bytes are not kept.
    func handle(_ datagram: UnsafeRawBufferPointer, at now: Instant)

    func advance(to now: Instant)

    /// Whether a datagram may wait to be sent: asked after every report that arrives, so that nothing is allocated for
    /// the answer no.
    var hasDatagrams: Bool { get }

    /// Writes the next datagram to be sent into the buffer, which holds 2048 bytes; nil when none waits.
    func poll(into buffer: UnsafeMutableRawBufferPointer) -> Int?

    /// The peer has the keys, as something of it shows that is protected with them: what only the handshake needed can
    /// go.
    func settle()

    /// Says goodbye to the peer, if it was ever reached.
    func close()

    var deadline: Instant? { get }
    var state: DTLSState { get }
}

extension DTLSHandshake {
    /// A handshake that cannot tell is asked by `poll`.
    public var hasDatagrams: Bool { true }

    /// One that holds little has nothing to let go of.
    public func settle() {}
}
