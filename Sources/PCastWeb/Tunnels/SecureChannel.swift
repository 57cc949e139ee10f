import Crypto
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import NIOTLS
import Synchronization

/// A TLS connection whose first decrypted byte selects the protocol: HTTP with WebSockets, or a tunnel. Thus one open
/// port, such as 443, is sufficient. ALPN selects HTTP/1.1 or HTTP/2 (RFC 7301).
///
/// A STUN message begins with two zero bits and has a type below 0x4000 (RFC 8489, section 5). No HTTP method begins
/// so.
struct SecureChannel: ServerChildChannel {
    typealias Value = WebSocketUpgradableChannel.Value

    let web: WebSocketUpgradableChannel
    let http2: HTTP2Channel
    let certificate: TLSCertificate
    let tunnels: (any StreamAcceptor)?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        if let refused = web.admit(channel) { return refused }
        let promise = channel.eventLoop.makePromise(of: WebSocketUpgradableChannel.Conversation.self)
        // The identity at this moment. A later connection may have another one.
        let identity = certificate.identity
        return channel.eventLoop.makeCompletedFuture {
            do {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLServerHandler(context: identity.context),
                    FirstByteHandler(web: web, http2: http2, tunnels: tunnels, promise: promise, logger: logger))
            } catch {
                promise.fail(error)
                throw error
            }
            return Value(upgrade: promise.futureResult, channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async { await web.handle(value: value, logger: logger) }
}

/// A handler that waits for the first byte and then installs the handlers of its protocol.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The name of HTTP/2 in ALPN (RFC 9113, section 3.2).
    static let http2Protocol = "h2"

    private let web: WebSocketUpgradableChannel
    private let http2: HTTP2Channel
    private let tunnels: (any StreamAcceptor)?
    private let logger: Logger
    private var promise: EventLoopPromise<WebSocketUpgradableChannel.Conversation>?
    /// Whether the client and the server have selected HTTP/2.
    private var usesHTTP2 = false

    init(
        web: WebSocketUpgradableChannel, http2: HTTP2Channel, tunnels: (any StreamAcceptor)?,
        promise: EventLoopPromise<WebSocketUpgradableChannel.Conversation>, logger: Logger
    ) {
        self.web = web
        self.http2 = http2
        self.tunnels = tunnels
        self.promise = promise
        self.logger = logger
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        promise?.fail(ChannelError.eof)
        promise = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            usesHTTP2 = negotiated == Self.http2Protocol
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Closes the connection after an error, such as a failed handshake.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard let promise, let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else {
            return context.fireChannelRead(data)
        }
        self.promise = nil
        if first < 0x40 {
            do {
                guard let tunnels else { throw ChannelError.eof }
                try tunnels.accept(context.channel, first: Array(bytes.readableBytesView))
                context.pipeline.syncOperations.removeHandler(name: FirstRequestHandler.name, promise: nil)
                promise.succeed(.tunnel)
            } catch {
                promise.fail(error)
                return context.close(promise: nil)
            }
        } else {
            do {
                promise.completeWith(try configure(context))
                context.fireChannelRead(data)
            } catch {
                promise.fail(error)
                return context.close(promise: nil)
            }
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}

extension FirstByteHandler {
    /// Adds the handlers of HTTP.
    private func configure(
        _ context: ChannelHandlerContext
    ) throws -> EventLoopFuture<WebSocketUpgradableChannel.Conversation> {
        guard usesHTTP2 else { return try web.configure(context.channel, isSecure: true) }
        // Idle connections are closed by the handlers of HTTP/2.
        context.pipeline.syncOperations.removeHandler(name: FirstRequestHandler.name, promise: nil)
        return http2.setup(channel: context.channel, logger: logger).map { [http2] in .http2(http2, $0) }
    }
}

extension HTTP2Channel {
    /// The time after which a connection without a request is closed.
    private static let idleTimeout = Duration.seconds(60)

    /// Returns the channel of a web server. `direct` responds before the routes; nil for none.
    static func web(
        _ responder: @escaping HTTPChannelHandler.Responder, _ direct: (any DirectResponder)?
    ) -> HTTP2Channel {
        HTTP2Channel(
            responder: responder,
            configuration: HTTP2ChannelConfiguration(
                idleTimeout: idleTimeout,
                streamConfiguration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: direct.map { [DirectResponseHandler($0) as any RemovableChannelHandler] }
                        ?? [])))
    }
}

/// The certificate chain and the private key of a TLS server.
package struct TLSIdentity: Sendable {
    let context: NIOSSLContext

    /// The time after which the server's certificate is invalid, in seconds since 1970.
    package let expiry: Int

    /// The SHA-256 fingerprint of the server's certificate, as browsers show it: pairs of hexadecimal digits with colons.
    package let fingerprint: String

    /// Reads PEM files. `certificate` is the path of the server's certificate, followed by those that issued it; `key`
    /// is the path of its key.
    ///
    /// - Throws: ``WebError/certificate(_:)``.
    package init(certificate: String, key: String) throws(WebError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate)
            guard !chain.isEmpty else { throw WebError.certificate("\(certificate) contains no certificate") }
            try self.init(chain, NIOSSLPrivateKey(file: key, format: .pem))
        } catch let error as WebError {
            throw error
        } catch {
            throw .certificate("\(certificate), \(key): \(error)")
        }
    }

    /// Creates an identity from a certificate and its key in DER format.
    ///
    /// - Throws: ``WebError/certificate(_:)``.
    package init(certificateDER certificate: [UInt8], keyDER key: [UInt8]) throws(WebError) {
        do {
            try self.init(
                [NIOSSLCertificate(bytes: certificate, format: .der)], NIOSSLPrivateKey(bytes: key, format: .der))
        } catch {
            throw .certificate("\(error)")
        }
    }

    private init(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = [FirstByteHandler.http2Protocol, "http/1.1"]
        context = try NIOSSLContext(configuration: configuration)
        expiry = chain.first.map { Int($0.notValidAfter) } ?? 0
        let digest = SHA256.hash(data: try chain.first?.toDERBytes() ?? [])
        fingerprint = digest.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined(separator: ":")
    }
}

/// The current identity of a TLS server, which can be replaced for later connections.
package final class TLSCertificate: Sendable {
    private let current: Mutex<TLSIdentity>

    /// Creates a certificate with an initial identity.
    package init(_ identity: TLSIdentity) { current = Mutex(identity) }

    /// The current identity.
    package var identity: TLSIdentity { current.withLock { $0 } }

    /// Replaces the identity for new connections. Open connections keep theirs.
    package func replace(with identity: TLSIdentity) { current.withLock { $0 = identity } }

    /// Adds the server's end of TLS to a channel, on its event loop.
    func secure(_ channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: identity.context))
    }
}
