import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import PCastCore
import PCastIO
import Synchronization

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

    /// Notes a request to which a handler before this one responds.
    func noteRequest() {
        isAnswering = true
        lastActivity = .now()
    }

    /// Notes that the client has read a part of such a response.
    func noteProgress() { lastActivity = .now() }

    /// Notes that such a response is complete. Returns whether the connection must be closed after it.
    func noteResponse() -> Bool {
        isAnswering = false
        lastActivity = .now()
        return isEnding
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

/// Lets connections wait in the kernel's queue while the process has few free descriptors. It is the first handler of a
/// channel that accepts connections.
final class DescriptorReserveHandler: ChannelOutboundHandler {
    typealias OutboundIn = Never

    /// The time after which the descriptors are counted again.
    static let pause = TimeAmount.milliseconds(100)

    private let isReserveReached: () -> Bool
    private var check: Scheduled<Void>?

    init(_ isReserveReached: @escaping () -> Bool = { DescriptorReserve.isReached }) {
        self.isReserveReached = isReserveReached
    }

    func read(context: ChannelHandlerContext) {
        guard check == nil else { return }
        guard isReserveReached() else { return context.read() }
        check = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.check = nil
            self.read(context: context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
    }
}

/// The wait for the first request of an accepted connection. Its end is reported once to the gate.
final class FirstRequestWait: Sendable {
    private let gate: (any ConnectionFilter)?
    private let address: IPAddress?
    private let hasEnded = Atomic(false)

    init(gate: (any ConnectionFilter)?, address: IPAddress?) { (self.gate, self.address) = (gate, address) }

    /// Ends the wait, because the head of the request has arrived or the connection is closed.
    func end() {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        gate?.stoppedWaiting(address)
    }
}

/// Closes a connection whose first request does not arrive in time. The time includes a TLS handshake before the
/// request. The handler is the first one of the pipeline, so it closes the connection without a TLS alert.
final class FirstRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    /// The handler's name in the pipeline, by which it is removed when the request has arrived.
    static let name = "first request"

    private let timeout: TimeAmount
    private let wait: FirstRequestWait
    private var check: Scheduled<Void>?

    init(timeout: TimeAmount, _ wait: FirstRequestWait) { (self.timeout, self.wait) = (timeout, wait) }

    func handlerAdded(context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        wait.end()
    }
}

/// Closes a connection on which no request has arrived, if the input is invalid or when the server stops.
final class SilentConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundOut = HTTPServerResponsePart

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

/// Closes a connection after the response to its last request (RFC 9112, section 9.3).
///
/// The last request has `Connection: close`, or uses HTTP/1.0 without `keep-alive`. It is also one with `Expect:
/// 100-continue` whose content was not requested, because the client may still send it (RFC 9110, section 10.1.1).
///
/// The server closes only its direction; the client then closes the connection. Otherwise pending input would reset the
/// connection, and the response could be lost.
final class ConnectionPersistenceHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request without a complete response.
    private struct Exchange {
        let version: HTTPVersion
        var isLast: Bool
        /// Whether the client waits for the interim response before it sends the content.
        var expectsContinue: Bool
    }

    /// The pending requests, in the order of arrival.
    private var exchanges = CircularBuffer<Exchange>()
    /// Whether the last request was received, or its response was sent.
    private var hasLastRequest = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            guard !hasLastRequest else { return }
            let isLast = !head.persists
            if head.version.isBeforeHTTP11 {
                // HTTP/1.0 has no `Expect`.
                head.headers.remove(name: "Expect")
                // Some proxies forward requests as HTTP/1.0 without any field that says so, such as nginx by default.
                // This field has the version that was received (RFC 9110, section 7.6.3).
                head.headers.add(name: "Via", value: "1.0 unknown")
            }
            // The HTTP server compares this spelling only.
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

    /// Returns the response head with a `Connection` field that states whether the connection persists.
    private func finalHead(_ response: HTTPResponseHead) -> HTTPResponseHead {
        var head = response
        var exchange = exchanges[exchanges.startIndex]
        let requestsClose = head.headers[canonicalForm: "Connection"].contains { $0.lowercased() == "close" }
        if exchange.expectsContinue || requestsClose {
            exchange.isLast = true
        }
        if exchange.version.isBeforeHTTP11 {
            // HTTP/1.0 has no chunked coding: the end of the connection is the end of the content.
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
    /// Whether the connection persists after this request (RFC 9112, section 9.3). `close` takes precedence.
    var persists: Bool {
        let options = headers[canonicalForm: "Connection"].map { $0.lowercased() }
        if options.contains("close") { return false }
        return !version.isBeforeHTTP11 || options.contains("keep-alive")
    }
}

extension HTTPVersion {
    /// Whether this is HTTP/1.0 or an older version.
    var isBeforeHTTP11: Bool { major < 1 || (major == 1 && minor < 1) }
}
