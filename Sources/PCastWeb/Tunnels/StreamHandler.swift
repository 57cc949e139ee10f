import NIOCore
import NIOSSL

/// Hands on the bytes of a stream, and reads no more while what it has handed on waits.
final class StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// Bytes that may wait for whoever takes them.
    private static let limit = 256 * 1_024

    private let received: @Sendable ([UInt8], _ done: @escaping @Sendable () -> Void) -> Void
    private var waiting = 0
    private var hasHeldRead = false

    /// - Parameter received: is given the bytes, and calls `done` on any thread when it has taken them in.
    init(received: @escaping @Sendable ([UInt8], _ done: @escaping @Sendable () -> Void) -> Void) {
        self.received = received
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Array(unwrapInboundIn(data).readableBytesView)
        waiting += bytes.count
        let loop = context.eventLoop
        let (own, bound) = (NIOLoopBound(self, eventLoop: loop), NIOLoopBound(context, eventLoop: loop))
        received(bytes) { loop.execute { own.value.taken(bytes.count, bound.value) } }
    }

    private func taken(_ count: Int, _ context: ChannelHandlerContext) {
        waiting -= count
        guard hasHeldRead, waiting <= Self.limit else { return }
        hasHeldRead = false
        context.read()
    }

    func read(context: ChannelHandlerContext) {
        if waiting > Self.limit { hasHeldRead = true } else { context.read() }
    }

    /// The server ends.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension Channel {
    /// Closes the connection without waiting for anything: neither for what was written, nor for the peer's goodbye of TLS.
    func cut() {
        eventLoop.execute {
            guard self.isActive else { return }
            // From the handler of TLS on, so that it has no say.
            if let context = try? self.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                context.close(promise: nil)
            } else {
                self.close(promise: nil)
            }
        }
    }
}

/// Whoever takes streams that are none of HTTP's.
protocol StreamAcceptor: AnyObject, Sendable {
    /// Called on the channel's event loop.
    ///
    /// - Parameter bytes: what was read of it already.
    func accept(_ channel: any Channel, first bytes: [UInt8]) throws
}
