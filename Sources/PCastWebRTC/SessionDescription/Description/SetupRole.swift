/// The `a=setup` attribute: who starts the DTLS handshake (RFC 4145 section 4, RFC 8842 section 5).
public enum SetupRole: String, Hashable, Sendable, CaseIterable {
    /// The DTLS client.
    case active
    /// The DTLS server.
    case passive
    /// Either; only in an offer.
    case actpass
    case holdconn

    /// Our role in an answer to an offer with this role; nil when the peer leaves none.
    ///
    /// `passive` to `actpass`: the peer's ClientHello then comes over the path its own check has opened, and Chromium
    /// as a client prefers AES-GCM.
    var answer: SetupRole? {
        switch self {
        case .actpass, .active: .passive
        case .passive: .active
        case .holdconn: nil
        }
    }
}
