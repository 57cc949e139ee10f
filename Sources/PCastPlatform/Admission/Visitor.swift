import PCastMedia
import PCastWeb

/// What is known of somebody at a door before any token is read.
struct Visitor: Sendable {
    /// Nil when the connection is gone already.
    let address: IPAddress?
    var sessionID: SessionID?
    /// The connection comes from this machine, for nobody else, and not from a page of another site.
    let isOnThisMachine: Bool

    /// - Parameters:
    ///   - host: the request's `Host`.
    ///   - origin: the page that made the request; nil when none did.
    init(_ caller: Caller, sessionID: SessionID? = nil, host: String?, origin: String?) {
        address = caller.address
        self.sessionID = sessionID
        isOnThisMachine = caller.isOnThisMachine && Self.isOurs(host: host, origin: origin)
    }

    /// Made by no page at all, or by one of ours: a page of another site that happens to be open on this machine must
    /// not watch its camera, nor one that made its own name point here.
    private static func isOurs(host: String?, origin: String?) -> Bool {
        guard let host, let name = (try? WebAddress("http://\(host)"))?.host else { return false }
        guard name == "localhost" || IPAddress(name)?.isLoopback == true else { return false }
        guard let origin else { return true }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }
}
