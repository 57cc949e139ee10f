import NIOCore
import NIOHTTPTypes

/// Closes an idle HTTP connection after 60 s without a request or response. When the server stops, the connection is
/// closed after the pending response.
///
/// A request that arrives byte by byte is not activity, so it must be complete within this time.
final class IdleConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart

    private static let limit = TimeAmount.seconds(60)
    private var lastActivity = NIODeadline.now()
    private var check: Scheduled<Void>?
    private var isAnswering = false
    private var isEnding = false

    func handlerAdded(context: ChannelHandlerContext) { schedule(context) }

    func handlerRemoved(context: ChannelHandlerContext) { check?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            isAnswering = true
            lastActivity = .now()
        case .end: lastActivity = .now()
        case .body: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        lastActivity = .now()
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        isAnswering = false
        context.write(data, promise: promise)
        if isEnding {
            context.flush()
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isEnding = true
            if !isAnswering { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func schedule(_ context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: lastActivity + Self.limit) {
            if NIODeadline.now() - self.lastActivity >= Self.limit {
                context.close(promise: nil)
            } else {
                self.schedule(context)
            }
        }
    }
}
