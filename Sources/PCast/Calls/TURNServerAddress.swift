import PCastCore
import PCastWebRTC

/// A TURN server that the platform told of, as far as we can use it: by TLS over TCP.
struct TURNServerAddress: Hashable, Sendable {
    let host: String
    let port: UInt16
    let credentials: TURNCredentials

    private static let defaultPort: UInt16 = 5349

    /// - Parameter uri: RFC 7065, such as `turns:media.example.org:443?transport=tcp`.
    /// - Returns: nil for another transport, or what cannot be read.
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
