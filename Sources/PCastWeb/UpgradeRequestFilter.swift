import NIOCore
import NIOHTTP1

/// Removes the `Upgrade` field from the first request of a connection unless it opens an existing WebSocket. A server
/// may ignore the field (RFC 9110, section 7.8).
///
/// The upgrade handler of SwiftNIO drops the head of a request that it does not upgrade, so that there would be no
/// response. Clients that offer HTTP/2 without TLS (`Upgrade: h2c`) send such requests.
final class UpgradeRequestFilter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let path: String
    private let isOpen: @Sendable (String) -> Bool
    private var hasSeenHead = false

    /// Creates a filter that permits WebSockets at `path`, and at paths for which `isOpen` returns true.
    init(path: String, orWhere isOpen: @escaping @Sendable (String) -> Bool) {
        (self.path, self.isOpen) = (path, isOpen)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data after an upgrade is not HTTP.
        guard !hasSeenHead, case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        hasSeenHead = true
        if !asksForWebSocket(head) { head.headers.remove(name: "Upgrade") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Returns whether a request opens a WebSocket (RFC 6455, section 4.2.1).
    private func asksForWebSocket(_ head: HTTPRequestHead) -> Bool {
        let headers = head.headers
        let asked = String(head.uri.prefix { $0 != "?" })
        return head.method == .GET && (asked == path || isOpen(asked))
            && headers[canonicalForm: "Upgrade"].contains { $0.lowercased() == "websocket" }
            && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
            && headers["Sec-WebSocket-Version"] == ["13"] && headers["Sec-WebSocket-Key"].count == 1
    }
}
