import NIOCore
import NIOWebSocket

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
