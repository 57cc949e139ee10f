/// Why a handshake came to nothing.
public enum DTLSFailure: Hashable, Sendable {
    /// The peer's certificate is not the one that its description vouched for: no keys were derived (RFC 8122).
    case fingerprintMismatch
    case noCertificate
    /// The two have no SRTP profile in common (RFC 5764, section 4.1).
    case noProfile
    /// The peer refused, or sent what no DTLS peer sends; OpenSSL's words.
    case protocolError(String)
    /// Nothing came of it for 30 seconds.
    case timeout
}
