/// The reason why a transport failed.
public enum TransportFailure: Hashable, Sendable {
    /// No check of the peer arrived before the setup deadline.
    case setupTimeout

    /// Nothing was authenticated for 30 s (RFC 7675, section 5.1).
    case consentExpired

    /// The DTLS handshake failed; the text is the reason, for a log.
    case handshake(String)
}
