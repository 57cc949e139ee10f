import PCastCore

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
