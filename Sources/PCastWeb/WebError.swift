import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import NIOWebSocket

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

    /// Creates the error for a failed connection to a server.
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

/// Accepts only valid frames. Frames of clients must be masked and those of servers must not (RFC 6455, section 5.1).
/// Reserved bits must be zero, because no extension is negotiated (section 5.2).
final class WebSocketFrameCheck: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    private let isServer: Bool
    private var isBroken = false

    init(isServer: Bool) { self.isServer = isServer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        let frame = unwrapInboundIn(data)
        guard (frame.maskKey != nil) == isServer, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            isBroken = true
            context.fireErrorCaught(WebError.protocolViolation("a WebSocket frame has a wrong mask or reserved bits"))
            return
        }
        context.fireChannelRead(data)
    }
}

/// The reasons of failed connections in plain English, without the codes and source files that libraries report.
enum ConnectionFailure {
    static func reason(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { reason(of: $0.error) } ?? "the host name \(error.host) has no address"
        case let error as IOError where error.errnoCode == ECONNREFUSED: WebError.refused
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOSSLExtraError where error == NIOSSLExtraError.failedToValidateHostname:
            "its certificate is for another name: use the name in the certificate"
        case let error as NIOSSLError where isOfCertificate(error):
            "its certificate has expired or is signed by an unknown authority: add the authority to "
                + "the system's certificates (ca-certificates), or set SSL_CERT_FILE to its file"
        case let error as NIOSSLError: words(of: error)
        default: "\(error)"
        }
    }

    /// Returns whether the server responded, but its certificate is not valid for the requested name.
    static func isOfCertificate(_ error: any Error) -> Bool {
        switch error {
        case let error as NIOSSLExtraError: error == NIOSSLExtraError.failedToValidateHostname
        case let error as NIOSSLError: "\(error)".firstRange(of: "CERTIFICATE_VERIFY_FAILED") != nil
        default: false
        }
    }

    private static func words(of error: NIOSSLError) -> String {
        switch error {
        case .failedToLoadCertificate, .noSuchFilesystemObject: return "SSL_CERT_FILE is not a file of certificates"
        default:
            guard let code = code(of: error) else { return "TLS failed: \(error)" }
            return "TLS failed: \(code.lowercased().replacing("_", with: " "))"
        }
    }

    /// Returns the code of a TLS error, such as `WRONG_VERSION_NUMBER`; nil if there is none.
    ///
    /// The library reports it only in a text: "error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at
    /// FILE:LINE".
    private static func code(of error: NIOSSLError) -> String? {
        let text = "\(error)"
        guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return nil }
        return String(text[mark.upperBound...].prefix { $0 != " " })
    }
}
