/// What can go wrong between a client and a web server, and what to do next.
public enum WebError: Error, Sendable, CustomStringConvertible {
    /// The address is no URI that this program understands.
    case invalidURI(String)

    /// Nobody answers there.
    case unreachable(uri: String, reason: String)

    /// Somebody answers who cannot show to be that server.
    case untrusted(uri: String, reason: String)

    /// The server answered, but does not speak WebSocket at that address.
    case upgradeRefused(uri: String)

    /// A port that another program has.
    case addressInUse(host: String, port: Int)

    /// The other side broke the protocol or a limit; the connection was closed.
    case protocolViolation(String)

    /// The certificate or key could not be used.
    case certificate(String)

    /// The server's machine answers, and nothing listens there.
    public var isRefusedConnection: Bool {
        if case .unreachable(_, Self.refused) = self { true } else { false }
    }

    static let refused = "Connection refused"

    /// - Parameter error: what a connection to the server failed with.
    init(reaching uri: String, failedWith error: any Error) {
        let reason = ConnectionFailure.reason(of: error)
        self =
            ConnectionFailure.isOfCertificate(error)
            ? .untrusted(uri: uri, reason: reason) : .unreachable(uri: uri, reason: reason)
    }

    public var description: String {
        switch self {
        case .invalidURI(let uri):
            "“\(uri)” is not an address: write http://HOST:PORT or https://HOST"
        case .unreachable(let uri, let reason):
            "no platform answers at \(uri) (\(reason)): is it running, and is the address right?"
        case .untrusted(let uri, let reason): "the server at \(uri) is not trusted: \(reason)"
        case .upgradeRefused(let uri):
            "the server at \(uri) refused a WebSocket: is this the address of a PCast platform?"
        case .addressInUse(let host, let port):
            "another program listens on \(host):\(port): choose another port, or port 0 for a free one"
        case .protocolViolation(let what): "the other side broke the protocol: \(what)"
        case .certificate(let reason): "the TLS certificate or key cannot be used: \(reason)"
        }
    }
}
