import PCastCore
import PCastWeb

/// The client of a request before a token is read.
struct ClientContext: Sendable {
    /// The address of the client; nil if the connection is closed.
    let address: IPAddress?
    var sessionID: SessionID?
    /// Whether the client is on this host, is not behind a proxy, and is not a web page of another site.
    let isOnThisMachine: Bool

    /// Creates a client from the `Host` field and the `Origin` field of its request.
    init(_ caller: RequestOrigin, sessionID: SessionID? = nil, host: String?, origin: String?) {
        address = caller.address
        self.sessionID = sessionID
        isOnThisMachine = caller.isOnThisMachine && Self.isSameOrigin(host: host, origin: origin)
    }

    /// Creates the client of a connection with a protocol that no web page can send. Behind a trusted proxy, the client
    /// is unknown.
    init(connectionFrom address: IPAddress?, isTrustedProxy: Bool) {
        self.address = address
        isOnThisMachine = !isTrustedProxy && address?.isLoopback == true
    }

    /// Returns whether the request was sent by no page, or by one of this platform. Pages of other sites that are open
    /// on this host must not watch its camera. Neither must pages that use DNS rebinding, so the host must be a
    /// loopback name or address.
    private static func isSameOrigin(host: String?, origin: String?) -> Bool {
        guard let host, let name = (try? WebAddress("http://\(host)"))?.host else { return false }
        guard name == "localhost" || IPAddress(name)?.isLoopback == true else { return false }
        guard let origin else { return true }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }
}

/// The origin of a request, as far as it is trusted.
struct RequestOrigin: Hashable, Sendable {
    /// The address of the client; nil if the connection is closed.
    let address: IPAddress?
    /// Whether a proxy forwarded the request and no trusted proxy reports the client. The client is then unknown,
    /// whatever the address of the connection is.
    var isHidden = false

    /// The header fields with which proxies mark forwarded requests.
    static let forwardingFields = [
        "x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto",
        "x-forwarded-server",
        "x-forwarded-port", "true-client-ip", "cf-connecting-ip",
    ]

    /// Whether the client is on this host according to its address.
    var isOnThisMachine: Bool { !isHidden && address?.isLoopback == true }
}
