/// The `a=setup` attribute: the DTLS role of a side (RFC 4145, section 4; RFC 8842, section 5).
public enum SetupRole: String, Hashable, Sendable, CaseIterable {
    /// The DTLS client.
    case active
    /// The DTLS server.
    case passive
    /// Either role, in offers only.
    case actpass
    /// No connection for now, which WebRTC does not use.
    case holdconn

    /// The local role in an answer to an offer with this role; nil if there is none.
    ///
    /// The answer to `actpass` is `passive`. The peer's ClientHello then arrives on the path that its own check has
    /// opened, and Chromium as a client prefers AES-GCM.
    var answer: SetupRole? {
        switch self {
        case .actpass, .active: .passive
        case .passive: .active
        case .holdconn: nil
        }
    }
}
