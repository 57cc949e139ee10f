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
