package import PCastCore

/// A DTLS handshake that results in SRTP keys (RFC 5764), driven like a machine.
///
/// It is a protocol so that deterministic simulations can establish keys without OpenSSL.
package protocol DTLSHandshake: AnyObject {
    /// Starts the handshake after the first valid ICE check: a client sends its first flight, and a server waits for
    /// it.
    func start(at now: Instant)

    /// Processes a datagram, whose bytes are not kept.
    func handle(_ datagram: ByteView, at now: Instant)

    /// Retransmits flights that are due, and handles timeouts.
    func advance(to now: Instant)

    /// Whether datagrams may be queued. It is checked after each report, and unlike ``poll(into:)`` needs no buffer.
    var hasDatagrams: Bool { get }

    /// Writes the next datagram into a buffer of 2048 bytes. Returns its size; nil if there is none.
    func poll(into buffer: MutableByteView) -> Int?

    /// Releases what only the handshake needed, because it has finished, and the peer has shown by an SRTP packet that it
    /// has the keys. A server still retransmits its final flight, which a client that sends early may lack.
    func releaseResources()

    /// Sends a close_notify alert, if the handshake has finished.
    func close()

    /// The time at which ``advance(to:)`` must be called; nil if nothing is scheduled.
    var deadline: Instant? { get }
    /// The progress of the handshake.
    var state: DTLSState { get }
    /// The keys with which a client may send before the handshake has finished (RFC 7918); nil if it must wait. They do
    /// not change when it finishes.
    var earlyKeys: SRTPKeyingMaterial? { get }
}

extension DTLSHandshake {
    /// True, for a handshake that does not track this.
    package var hasDatagrams: Bool { true }

    /// Nil, for a handshake that has no keys before its end.
    package var earlyKeys: SRTPKeyingMaterial? { nil }

    /// Does nothing, for a handshake that has nothing to release.
    package func releaseResources() {}
}

/// The progress of a handshake.
package enum DTLSState: Equatable, Sendable {
    /// The handshake has not started.
    case new
    /// Flights are being exchanged.
    case handshaking
    /// The handshake has finished with keys.
    case established(SRTPKeyingMaterial)
    /// The handshake has failed.
    case failed(DTLSFailure)
    /// The peer has closed the connection (close_notify), or this side has.
    case closed
}

/// The reason why a handshake failed.
package enum DTLSFailure: Hashable, Sendable {
    /// The certificate of the peer does not match the fingerprint in its session description, so no keys were derived
    /// (RFC 8122).
    case fingerprintMismatch
    /// The peer sent no certificate.
    case noCertificate
    /// The peers have no common SRTP profile (RFC 5764, section 4.1).
    case noProfile
    /// The peer rejected the handshake or violated the protocol; the text is OpenSSL's message.
    case protocolError(String)
    /// The handshake did not finish within 30 s.
    case timeout
}

/// The role in the handshake: the client (`a=setup:active`) sends the first message (RFC 5763, section 5).
package enum DTLSRole: Sendable {
    /// The endpoint that sends ClientHello.
    case client
    /// The endpoint that waits for ClientHello.
    case server
}
