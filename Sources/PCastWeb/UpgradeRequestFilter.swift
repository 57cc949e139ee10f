import NIOCore
import NIOHTTP1

/// Takes the wish for another protocol out of a connection's first request, unless it is for a WebSocket that there is:
/// servers answer such a request as if it had no such wish (RFC 9110, section 7.8).
///
/// NIO's own handler of upgrades loses the head of a request whose wish it does not grant, so that nobody would be
/// answered; programs that offer HTTP/2 in the clear (`Upgrade: h2c`) are among them.
final class UpgradeRequestFilter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let path: String
    private let isOpen: @Sendable (String) -> Bool
    private var hasSeenHead = false

    /// - Parameters:
    ///   - path: where a WebSocket may be opened.
    ///   - isOpen: whether one may be opened at another path.
    init(path: String, orWhere isOpen: @escaping @Sendable (String) -> Bool) {
        (self.path, self.isOpen) = (path, isOpen)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes after an upgrade is no HTTP any more.
        guard !hasSeenHead, case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        hasSeenHead = true
        if !asksForWebSocket(head) { head.headers.remove(name: "Upgrade") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// As RFC 6455, section 4.2.1 has it.
    private func asksForWebSocket(_ head: HTTPRequestHead) -> Bool {
        let headers = head.headers
        let asked = String(head.uri.prefix { $0 != "?" })
        return head.method == .GET && (asked == path || isOpen(asked))
            && headers[canonicalForm: "Upgrade"].contains { $0.lowercased() == "websocket" }
            && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
            && headers["Sec-WebSocket-Version"] == ["13"] && headers["Sec-WebSocket-Key"].count == 1
    }
}
