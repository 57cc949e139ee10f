import NIOCore

/// Hands on the bytes of a stream.
final class StreamHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let received: @Sendable ([UInt8]) -> Void

    init(received: @escaping @Sendable ([UInt8]) -> Void) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received(Array(unwrapInboundIn(data).readableBytesView))
    }

    /// The server ends.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Whoever takes streams that are none of HTTP's.
protocol StreamAcceptor: AnyObject, Sendable {
    /// Called on the channel's event loop.
    ///
    /// - Parameter bytes: what was read of it already.
    func accept(_ channel: any Channel, first bytes: [UInt8]) throws
}
