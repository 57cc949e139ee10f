import NIOCore
import NIOWebSocket

/// Lets through only frames that the other side may send: masked by clients and by nobody else (RFC 6455, section
/// 5.1), with no bits of an extension, for none is negotiated (section 5.2).
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
            context.fireErrorCaught(WebError.protocolViolation("a WebSocket frame with a wrong mask or reserved bits"))
            return
        }
        context.fireChannelRead(data)
    }
}
