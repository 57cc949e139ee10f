import PCastCore
import PCastWebRTC

/// A TURN server of the platform that the client supports: TURN over TLS and TCP.
struct TURNServerAddress: Hashable, Sendable {
    let host: String
    let port: UInt16
    let credentials: TURNCredentials

    private static let defaultPort: UInt16 = 5349

    /// Parses a TURN URI (RFC 7065), e.g. `turns:media.example.org:443?transport=tcp`; nil for another transport or a
    /// malformed URI.
    init?(uri: String, username: String, credential: String) {
        guard uri.lowercased().hasPrefix("turns:") else { return nil }
        let parts = uri.dropFirst("turns:".count).split(separator: "?", maxSplits: 1)
        guard let authority = parts.first, parts.count == 1 || parts[1].lowercased() == "transport=tcp" else {
            return nil
        }
        var host = authority
        var port = Self.defaultPort
        if let colon = authority.lastIndex(of: ":"), authority[colon...].firstIndex(of: "]") == nil {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            host = authority[..<colon]
            port = number
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !username.isEmpty else { return nil }
        self.host = String(host)
        self.port = port
        credentials = TURNCredentials(username: username, password: credential)
    }
}
