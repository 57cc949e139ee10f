import PCastMedia

/// From where a request comes, as far as that is believed.
struct Caller: Hashable, Sendable {
    /// Nil when the connection is gone already.
    let address: IPAddress?
    /// The request says that somebody forwards it, and no named proxy says for whom: it may be anybody's, whatever address
    /// the connection has.
    var isHidden = false

    /// The fields in which proxies say that they forward a request.
    static let forwardingFields = [
        "x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto",
        "x-forwarded-server",
        "x-forwarded-port", "true-client-ip", "cf-connecting-ip",
    ]

    /// Whether it is of this machine, as far as addresses tell.
    var isOnThisMachine: Bool { !isHidden && address?.isLoopback == true }
}
