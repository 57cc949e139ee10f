import PCastIO
import PCastMedia
import PCastWebRTC
import Synchronization

/// What clients are told of the TURN server: where it is, and credentials for half a day.
final class RelayOffers: Sendable {
    struct Offer: Sendable {
        /// Such as `turns:media.example.org:443?transport=tcp` (RFC 7065).
        let uri: String
        let credentials: TURNCredentials

        /// As WHIP and WHEP tell it (RFC 9725, section 4.6).
        var link: String {
            "<\(uri)>; rel=\"ice-server\"; username=\"\(credentials.username)\"; "
                + "credential=\"\(credentials.password)\"; credential-type=\"password\""
        }
    }

    /// A stream may begin anew with them for so long; one that runs goes on.
    private static let lifetime = TimeSpan.seconds(12 * 3600 as Int64)

    let secret: [UInt8]
    private let name: Setting<String?>
    /// Nil until it listens.
    private let port = Mutex<Int?>(nil)

    /// - Parameter name: the host that clients are told; nil for the one that they have come by.
    init(name: String?) {
        self.name = Setting(name)
        var generator = SystemRandomNumberGenerator()
        secret = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Who asks from now on is told that host.
    func change(name: String?) { self.name.value = name }

    func listens(at port: Int) { self.port.withLock { $0 = port } }

    /// Whether connections to that port are of TLS.
    func isSecure(port: Int?) -> Bool { self.port.withLock { $0 != nil && $0 == port } }

    /// - Parameters:
    ///   - user: tells users apart.
    ///   - host: of the request, with or without a port.
    func offer(to user: StreamID, host: String?) -> Offer? {
        guard let port = port.withLock({ $0 }), let host = name.value ?? host.flatMap(Self.withoutPort) else {
            return nil
        }
        let expiry = MonotonicClock.wallTime() + Self.lifetime
        return Offer(
            uri: "turns:\(host):\(port)?transport=tcp",
            credentials: .make(secret: secret, user: user.description, expiry: expiry))
    }

    /// `[::1]:8080` is `[::1]`, and nothing that could end a header's value passes.
    private static func withoutPort(_ host: String) -> String? {
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ">") })
        else { return nil }
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
        let name = host.prefix { $0 != ":" }
        return name.isEmpty ? nil : String(name)
    }
}
