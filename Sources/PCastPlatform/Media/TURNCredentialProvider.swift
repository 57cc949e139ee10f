import PCastCore
import PCastIO
import PCastWebRTC
import Synchronization

/// The TURN server for clients: its URI, and credentials that are valid for half a day.
final class TURNCredentialProvider: Sendable {
    struct Offer: Sendable {
        /// The URI, such as `turns:media.example.org:443?transport=tcp` (RFC 7065).
        let uri: String
        let credentials: TURNCredentials

        /// The value of the `Link` field of WHIP and WHEP (RFC 9725, section 4.6).
        var link: String {
            "<\(uri)>; rel=\"ice-server\"; username=\"\(credentials.username)\"; "
                + "credential=\"\(credentials.password)\"; credential-type=\"password\""
        }
    }

    /// The time for which new allocations with the credentials are possible. Existing ones continue.
    private static let lifetime = TimeSpan.seconds(12 * 3600 as Int64)

    let secret: [UInt8]
    private let name: Setting<String?>
    /// The port of the TLS server; nil before it listens.
    private let port = Mutex<Int?>(nil)

    /// Creates the provider with a random secret. `name` is the host in URIs; if it is nil, the host of the client's
    /// request is used.
    init(name: String?) {
        self.name = Setting(name)
        var generator = SystemRandomNumberGenerator()
        secret = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Changes the host in later URIs.
    func change(name: String?) { self.name.value = name }

    func listens(at port: Int) { self.port.withLock { $0 = port } }

    /// Returns whether a port is that of the TLS server.
    func isSecure(port: Int?) -> Bool { self.port.withLock { $0 != nil && $0 == port } }

    /// Returns a URI and credentials; nil if the TLS server does not listen or the host is unknown. `user`
    /// distinguishes the credentials of users. `host` is the `Host` field of the request, with or without a port.
    func offer(to user: StreamID, host: String?) -> Offer? {
        guard let port = port.withLock({ $0 }), let host = name.value ?? host.flatMap(Self.withoutPort) else {
            return nil
        }
        let expiry = MonotonicClock.wallTime() + Self.lifetime
        return Offer(
            uri: "turns:\(host):\(port)?transport=tcp",
            credentials: .make(secret: secret, user: user.description, expiry: expiry))
    }

    /// Returns a host without its port, such as `[::1]` for `[::1]:8080`; nil if it has characters that could end the
    /// value of a header field.
    private static func withoutPort(_ host: String) -> String? {
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ">") })
        else { return nil }
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        let name = host.prefix { $0 != ":" }
        return name.isEmpty ? nil : String(name)
    }
}
