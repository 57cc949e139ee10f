import NIOCore
import NIOSSL

/// Forwards the bytes of a stream. It stops reading while too many forwarded bytes are not processed yet.
final class StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// The maximum number of bytes that are not processed yet.
    private static let limit = 256 * 1_024

    private let received: @Sendable ([UInt8], _ done: @escaping @Sendable () -> Void) -> Void
    private var waiting = 0
    private var hasHeldRead = false

    /// Creates a handler. `received` receives the bytes, and calls `done` on any thread when it has processed them.
    init(received: @escaping @Sendable ([UInt8], _ done: @escaping @Sendable () -> Void) -> Void) {
        self.received = received
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Array(unwrapInboundIn(data).readableBytesView)
        waiting += bytes.count
        let loop = context.eventLoop
        let (own, bound) = (NIOLoopBound(self, eventLoop: loop), NIOLoopBound(context, eventLoop: loop))
        received(bytes) { loop.execute { own.value.consumed(bytes.count, bound.value) } }
    }

    private func consumed(_ count: Int, _ context: ChannelHandlerContext) {
        waiting -= count
        guard hasHeldRead, waiting <= Self.limit else { return }
        hasHeldRead = false
        context.read()
    }

    func read(context: ChannelHandlerContext) {
        if waiting > Self.limit { hasHeldRead = true } else { context.read() }
    }

    /// Closes the connection when the server stops.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension Channel {
    /// Closes the connection at once, without waiting for pending data and for the peer's TLS alert.
    func cut() {
        eventLoop.execute {
            guard self.isActive else { return }
            // The TLS handler is bypassed, because it would wait for the peer's alert.
            if let context = try? self.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                context.close(promise: nil)
            } else {
                self.close(promise: nil)
            }
        }
    }
}

/// A server of connections that do not use HTTP.
protocol StreamAcceptor: AnyObject, Sendable {
    /// Accepts a connection, on the channel's event loop. `bytes` were already read from it.
    ///
    /// - Throws: An error if the connection is already closed.
    func accept(_ channel: any Channel, first bytes: [UInt8]) throws
}
