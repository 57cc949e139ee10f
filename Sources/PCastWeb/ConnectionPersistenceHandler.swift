import NIOCore
import NIOHTTP1

/// Ends a connection after the response to its last request (RFC 9112, section 9.3): one with `Connection: close`, one of
/// HTTP/1.0 without `keep-alive`, and one whose content was expected and not asked for, as nobody knows whether that
/// still comes (RFC 9110, section 10.1.1).
///
/// The connection is closed in the direction of the response alone, and by the client as a whole: whatever is still
/// coming in would otherwise reset it, and the response with it.
final class ConnectionPersistenceHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that is not answered yet.
    private struct Exchange {
        let version: HTTPVersion
        var isLast: Bool
        /// The client waits with the content for the interim response.
        var expectsContinue: Bool
    }

    /// In the order in which they came.
    private var exchanges = CircularBuffer<Exchange>()
    /// The last request has come, or the response to it has gone.
    private var hasLastRequest = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            guard !hasLastRequest else { return }
            let isLast = !head.persists
            // An expectation of HTTP/1.0 is ignored.
            if head.version.isBeforeHTTP11 { head.headers.remove(name: "Expect") }
            // In the one spelling that the server above looks for.
            if isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            exchanges.append(
                Exchange(
                    version: head.version, isLast: isLast, expectsContinue: head.headers.contains(name: "Expect")))
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body: context.fireChannelRead(data)
        case .end:
            guard !hasLastRequest else { return }
            hasLastRequest = exchanges.last?.isLast ?? false
            context.fireChannelRead(data)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !exchanges.isEmpty else { return context.write(data, promise: promise) }
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status.code < 200:
            exchanges[exchanges.startIndex].expectsContinue = false
            context.write(data, promise: promise)
        case .head(let head): context.write(wrapOutboundOut(.head(finalHead(head))), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            let isLast = exchanges.removeFirst().isLast
            guard isLast else { return context.write(data, promise: promise) }
            hasLastRequest = true
            context.writeAndFlush(data, promise: promise)
            context.close(mode: .output, promise: nil)
        }
    }

    /// Says whether the connection stays.
    private func finalHead(_ response: HTTPResponseHead) -> HTTPResponseHead {
        var head = response
        var exchange = exchanges[exchanges.startIndex]
        let saysClose = head.headers[canonicalForm: "Connection"].contains { $0.lowercased() == "close" }
        if exchange.expectsContinue || saysClose {
            exchange.isLast = true
        }
        if exchange.version.isBeforeHTTP11 {
            // Its clients know no chunks: the end of the connection is that of the content.
            let hasLength = head.headers.contains(name: "Content-Length") || !head.status.mayHaveResponseBody
            if !hasLength {
                head.version = exchange.version
                head.headers.remove(name: "Transfer-Encoding")
                exchange.isLast = true
            } else if !exchange.isLast {
                head.headers.replaceOrAdd(name: "Connection", value: "keep-alive")
            }
        }
        if exchange.isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        exchanges[exchanges.startIndex] = exchange
        return head
    }
}

extension HTTPRequestHead {
    /// Whether the connection stays after it (RFC 9112, section 9.3): `close` goes before all else.
    fileprivate var persists: Bool {
        let options = headers[canonicalForm: "Connection"].map { $0.lowercased() }
        if options.contains("close") { return false }
        return !version.isBeforeHTTP11 || options.contains("keep-alive")
    }
}

extension HTTPVersion {
    fileprivate var isBeforeHTTP11: Bool { major < 1 || (major == 1 && minor < 1) }
}
