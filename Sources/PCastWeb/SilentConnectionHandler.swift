import NIOCore
import NIOHTTP1

/// Closes a connection on which no request has arrived: after 30 s, if the input is invalid, or when the server stops.
final class SilentConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundOut = HTTPServerResponsePart

    private static let limit = TimeAmount.seconds(30)
    private var check: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(in: Self.limit) { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { check?.cancel() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        let status: HTTPResponseStatus = error == .headerOverflow ? .requestHeaderFieldsTooLarge : .badRequest
        let head = HTTPResponseHead(
            version: .http1_1, status: status, headers: ["Connection": "close", "Content-Length": "0"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }
}
