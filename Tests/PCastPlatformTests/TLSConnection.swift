import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A connection to the TLS port that accepts any certificate and records it.
final class TLSConnection: Sendable {
    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let received = Mutex("")

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            received.withLock { $0 += text }
        }
    }

    /// The certificate of the server in DER.
    let certificate: [UInt8]
    private let channel: any Channel
    private let collector: Collector

    init(port: Int) async throws {
        let collector = Collector()
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .noHostnameVerification
        let context = try NIOSSLContext(configuration: configuration)
        let group = MultiThreadedEventLoopGroup.singleton
        let shown = group.next().makePromise(of: [UInt8].self)
        channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(
                        context: context, serverHostname: nil,
                        customVerificationCallback: { certificates, verified in
                            shown.completeWith(Result { try certificates.first?.toDERBytes() ?? [] })
                            verified.succeed(.certificateVerified)
                        })
                    try channel.pipeline.syncOperations.addHandlers(handler, collector)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        self.collector = collector
        channel.closeFuture.whenComplete { _ in shown.fail(ChannelError.eof) }
        // The handshake starts with the first bytes.
        certificate = try await shown.futureResult.get()
    }

    /// Requests the platform's health and waits for the response.
    func isAnswered() async throws -> Bool {
        collector.received.withLock { $0 = "" }
        let request = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        try await channel.writeAndFlush(ByteBuffer(string: request))
        return try await eventually { collector.received.withLock { $0.contains(#"{"status":"ok"}"#) } }
    }

    func close() async { try? await channel.close() }
}
