/// Why a peer's transport ended without being asked to.
public enum TransportFailure: Hashable, Sendable {
    /// No check of the peer arrived before the setup deadline.
    case setupTimeout

    /// Nothing authenticated for 30 s (RFC 7675).
    case consentExpired

    /// The handshake failed; the text says why, for a log.
    case handshake(String)
}
