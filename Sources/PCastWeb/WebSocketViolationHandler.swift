import NIOCore
import NIOWebSocket

/// Sends a close frame with the reason before it closes a WebSocket whose peer violated the protocol (RFC 6455, section
/// 7.4.1). The frame decoder handles its own errors before.
final class WebSocketViolationHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let isServer: Bool

    init(isServer: Bool) { self.isServer = isServer }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let code = Self.code(for: error) {
            var data = context.channel.allocator.buffer(capacity: 2)
            data.write(webSocketErrorCode: code)
            let frame = WebSocketFrame(
                fin: true, opcode: .connectionClose, maskKey: isServer ? nil : .random(), data: data)
            context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
            context.close(promise: nil)
        }
        context.fireErrorCaught(error)
    }

    private static func code(for error: any Error) -> WebSocketErrorCode? {
        switch error {
        case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            .messageTooLarge
        case is NIOWebSocketFrameAggregator.Error, is WebError: .protocolError
        default: nil
        }
    }
}
