/// An error between a web client and a server. Its text says what to do.
package enum WebError: Error, Sendable, CustomStringConvertible {
    /// The URI is invalid or its scheme is not supported.
    case invalidURI(String)

    /// The server does not respond.
    case unreachable(uri: String, reason: String)

    /// The certificate of the server is not trusted.
    case untrusted(uri: String, reason: String)

    /// The server responded, but there is no WebSocket at this path.
    case upgradeRefused(uri: String)

    /// Another program listens on the port.
    case addressInUse(host: String, port: Int)

    /// The peer violated the protocol or a limit, and the connection was closed.
    case protocolViolation(String)

    /// The certificate or key cannot be used.
    case certificate(String)

    /// Whether the host responded that no program listens on the port.
    package var isRefusedConnection: Bool {
        if case .unreachable(_, Self.refused) = self { true } else { false }
    }

    static let refused = "Connection refused"

    /// Creates an error from the error of a connection to a server.
    init(reaching uri: String, failedWith error: any Error) {
        let reason = ConnectionFailure.reason(of: error)
        self =
            ConnectionFailure.isOfCertificate(error)
            ? .untrusted(uri: uri, reason: reason) : .unreachable(uri: uri, reason: reason)
    }

    /// The error and its remedy in English.
    package var description: String {
        switch self {
        case .invalidURI(let uri):
            "“\(uri)” is not a platform URI: write http://HOST:PORT or https://HOST"
        case .unreachable(let uri, let reason):
            "no platform responds at \(uri) (\(reason)): check that it runs, and its address"
        case .untrusted(let uri, let reason): "the server at \(uri) is not trusted: \(reason)"
        case .upgradeRefused(let uri):
            "the server at \(uri) rejected a WebSocket: check that this is the address of a PCast platform"
        case .addressInUse(let host, let port):
            "another program listens on \(host):\(port): choose another port, or port 0 for a free one"
        case .protocolViolation(let what): "the peer violated the protocol: \(what)"
        case .certificate(let reason): "the TLS certificate or key cannot be used: \(reason)"
        }
    }
}
