import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Sends the responses of a ``DirectResponder`` on the event loop of a connection with HTTP/1.1.
///
/// It is behind SwiftNIO's decoder of requests, which alone decides where a request begins and ends. Only a GET or HEAD
/// request without content, without other options of the connection than `keep-alive`, and with one `Host` is answered
/// here. The routes respond to all others, and to all that arrive while the routes have not completed a response, so that
/// responses keep the order of their requests.
///
/// While a response is awaited or is being sent, later requests are held: those that were received together with the one
/// that is answered. Nothing more is read meanwhile. A connection that fills ``heldLimit`` nevertheless is closed. Content
/// is shared with all other connections, and is written in pieces as the client reads.
final class DirectConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A response that is awaited.
    private struct Awaited {
        let number: Int
        let response: any DelayedResponse
        let isHead: Bool
    }

    /// The maximum size of content that is copied behind its head, which costs less than a second buffer.
    private static let copyLimit = 8 << 10
    /// The size of the pieces in which large content is written.
    private static let pieceSize = 128 << 10
    /// The marks of a connection that sends large content. A piece with its head is below the upper one, so that usual
    /// ranges and parts change no writability, which all handlers of the connection would be notified of.
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 64 << 10, high: 160 << 10)
    /// The maximum number of parts of requests that are held.
    private static let heldLimit = 1_024

    private let responder: any DirectResponder
    private let idle: IdleConnectionHandler
    private var context: ChannelHandlerContext?
    /// The context of SwiftNIO's encoder. What is written through it is sent as it is.
    private var encoder: ChannelHandlerContext?
    /// The number of requests to which the routes have not completed their responses.
    private var routedCount = 0
    /// Whether the connection ends after a response of the routes.
    private var hasLastRequest = false
    /// The answer to the request whose end has not arrived.
    private var current: (answer: DirectAnswer, isHead: Bool)?
    private var awaited: Awaited?
    private var nextNumber = 0
    /// The content that is not written yet.
    private var rest = ByteBuffer()
    private var isWriting = false
    private var hasWaterMark = false
    /// The parts of requests that arrived while a response is awaited or sent.
    private var held = CircularBuffer<HTTPServerRequestPart>()
    private var heldError: (any Error)?
    private var holdsRead = false
    private var holdsInputEnd = false

    init(_ responder: any DirectResponder, _ idle: IdleConnectionHandler) {
        self.responder = responder
        self.idle = idle
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// Ends waiting, and releases what is held.
    private func end() {
        awaited?.response.cancel()
        (awaited, current, encoder, context) = (nil, nil, nil, nil)
        rest = ByteBuffer()
        held.removeAll()
    }

    /// Whether a response is awaited or being sent.
    private var isBusy: Bool { awaited != nil || rest.readableBytes > 0 }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard isBusy || !held.isEmpty else { return receive(part, context) }
        guard held.count < Self.heldLimit else { return context.close(promise: nil) }
        held.append(part)
    }

    private func receive(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head):
            if let answer = answer(to: head, context) {
                current = (answer, head.method == .HEAD)
                return idle.noteRequest()
            }
            routedCount += 1
            if !head.persists { hasLastRequest = true }
            context.fireChannelRead(wrapInboundOut(part))
        case .body: if current == nil { context.fireChannelRead(wrapInboundOut(part)) }
        case .end:
            guard let (answer, isHead) = current else { return context.fireChannelRead(wrapInboundOut(part)) }
            current = nil
            switch answer {
            case .response(let response): send(response, isHead: isHead, context)
            case .later(let response): wait(for: response, isHead: isHead, context)
            case .routes: break
            }
        }
    }

    /// Returns the answer to a request; nil if the routes respond.
    private func answer(to head: HTTPRequestHead, _ context: ChannelHandlerContext) -> DirectAnswer? {
        // The routes wait for a client that reads too slowly.
        guard routedCount == 0, !hasLastRequest, encoder != nil, head.version == .http1_1,
            head.method == .GET || head.method == .HEAD, responder.recognizes(head.uri), context.channel.isWritable,
            let request = DirectRequest(head)
        else { return nil }
        let answer = responder.answer(to: request)
        if case .routes = answer { return nil }
        return answer
    }

    func read(context: ChannelHandlerContext) {
        if held.isEmpty { context.read() } else { holdsRead = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The response to an invalid request follows those to the requests before it.
        if isBusy { heldError = heldError ?? error } else { context.fireErrorCaught(error) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .inputClosed? = event as? ChannelEvent else { return context.fireUserInboundEventTriggered(event) }
        if isBusy { holdsInputEnd = true } else { passInputEnd(context) }
    }

    /// Reports that the client sends nothing more, after what was written has been sent: the server then closes the
    /// connection.
    private func passInputEnd(_ context: ChannelHandlerContext) {
        afterWrites(context) { $0.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
    }

    private func afterWrites(
        _ context: ChannelHandlerContext, _ action: @escaping (ChannelHandlerContext) -> Void
    ) {
        guard let encoder else { return action(context) }
        let written = context.eventLoop.makePromise(of: Void.self)
        encoder.writeAndFlush(NIOAny(context.channel.allocator.buffer(capacity: 0)), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in action(context) }
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.headers[canonicalForm: "Connection"].contains("close") { hasLastRequest = true }
        case .body: break
        case .end: routedCount -= 1
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if rest.readableBytes > 0, context.channel.isWritable {
            idle.noteProgress()
            writeRest(context)
            if !isBusy { proceed(context) }
        }
        context.fireChannelWritabilityChanged()
    }

    private func wait(for response: any DelayedResponse, isHead: Bool, _ context: ChannelHandlerContext) {
        nextNumber += 1
        let number = nextNumber
        awaited = Awaited(number: number, response: response, isHead: isHead)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        response.begin(on: context.eventLoop) { handler.value.complete(number, with: $0) }
    }

    private func complete(_ number: Int, with response: DirectResponse) {
        guard let awaited, awaited.number == number, let context else { return }
        self.awaited = nil
        send(response, isHead: awaited.isHead, context)
        if !isBusy { proceed(context) }
    }

    private func send(_ response: DirectResponse, isHead: Bool, _ context: ChannelHandlerContext) {
        guard let encoder else { return }
        if let complete = response.complete, !isHead {
            encoder.writeAndFlush(NIOAny(complete), promise: nil)
            return endResponse(context)
        }
        let size = isHead ? 0 : response.body.readableBytes
        let isSmall = size <= Self.copyLimit
        var buffer = context.channel.allocator.buffer(capacity: response.headSize + (isSmall ? size : 0))
        response.writeHead(to: &buffer)
        if isSmall, size > 0 { buffer.writeImmutableBuffer(response.body) }
        guard !isSmall else {
            encoder.writeAndFlush(NIOAny(buffer), promise: nil)
            return endResponse(context)
        }
        if !hasWaterMark {
            hasWaterMark = true
            try? context.channel.syncOptions?.setOption(.writeBufferWaterMark, value: Self.waterMark)
        }
        encoder.write(NIOAny(buffer), promise: nil)
        rest = response.body
        writeRest(context)
    }

    /// Writes content until the client must read, or the response is complete.
    private func writeRest(_ context: ChannelHandlerContext) {
        // Writing may change the writability, which is reported at once.
        guard let encoder, !isWriting else { return }
        isWriting = true
        defer { isWriting = false }
        repeat {
            guard let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceSize)) else { break }
            encoder.writeAndFlush(NIOAny(piece), promise: nil)
        } while rest.readableBytes > 0 && context.channel.isWritable
        guard rest.readableBytes == 0 else { return }
        rest = ByteBuffer()
        endResponse(context)
    }

    private func endResponse(_ context: ChannelHandlerContext) {
        guard idle.noteResponse() else { return }
        hasLastRequest = true
        afterWrites(context) { $0.close(promise: nil) }
    }

    /// Continues with what was held.
    private func proceed(_ context: ChannelHandlerContext) {
        var hasReceived = false
        while !isBusy, let part = held.popFirst() {
            receive(part, context)
            hasReceived = true
        }
        if hasReceived { context.fireChannelReadComplete() }
        guard !isBusy, held.isEmpty else { return }
        if let error = heldError {
            heldError = nil
            context.fireErrorCaught(error)
        }
        if holdsRead {
            holdsRead = false
            context.read()
        }
        if holdsInputEnd {
            holdsInputEnd = false
            passInputEnd(context)
        }
    }
}

extension DirectRequest {
    /// Creates the request of a head; nil if the routes must respond, because it has content, several values where one
    /// is expected, or options that only the routes know.
    fileprivate init?(_ head: HTTPRequestHead) {
        self.init(target: head.uri, isHead: head.method == .HEAD)
        var hasHost = false
        for (name, value) in head.headers {
            // Most names differ in their lengths.
            switch name.utf8.count {
            case 4 where name.isSame(as: "host"):
                guard !hasHost else { return nil }
                hasHost = true
            case 5 where name.isSame(as: "range"):
                guard range == nil else { return nil }
                range = value
            case 6 where name.isSame(as: "expect"): return nil
            case 10 where name.isSame(as: "connection"):
                guard value.isSame(as: "keep-alive") else { return nil }
            case 14 where name.isSame(as: "content-length"): return nil
            case 15 where name.isSame(as: "accept-encoding"):
                acceptEncoding = acceptEncoding.map { "\($0), \(value)" } ?? value
            case 17 where name.isSame(as: "transfer-encoding"): return nil
            default: break
            }
        }
        guard hasHost else { return nil }
    }
}

extension String {
    /// Returns whether the text equals one in lower case, without regard to the case of ASCII letters.
    fileprivate func isSame(as lowercase: StaticString) -> Bool {
        let count = lowercase.utf8CodeUnitCount
        guard utf8.count == count else { return false }
        return lowercase.withUTF8Buffer { expected in
            var index = 0
            for byte in utf8 {
                let isUppercase = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                guard (isUppercase ? byte | 0x20 : byte) == expected[index] else { return false }
                index += 1
            }
            return true
        }
    }
}

/// Sends the responses of a ``DirectResponder`` on the event loop of a stream with HTTP/2, which has one request. The routes
/// respond if the response is known later, or is so large that the client must read meanwhile.
final class DirectResponseHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    /// The maximum size of content. Larger content is written in pieces, which the routes do.
    private static let sizeLimit = 256 << 10

    private let responder: any DirectResponder
    /// The response to the request, which is sent when the request is complete.
    private var response: (content: DirectResponse, isHead: Bool)?

    init(_ responder: any DirectResponder) { self.responder = responder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            response = answer(to: request)
            if response == nil { context.fireChannelRead(data) }
        case .body: if response == nil { context.fireChannelRead(data) }
        case .end:
            guard let (content, isHead) = response else { return context.fireChannelRead(data) }
            response = nil
            send(content, isHead: isHead, context)
        }
    }

    private func answer(to request: HTTPRequest) -> (content: DirectResponse, isHead: Bool)? {
        let fields = request.headerFields
        let isHead = request.method == .head
        guard isHead || request.method == .get, let target = request.path, responder.recognizes(target),
            fields[.expect] == nil
        else { return nil }
        let answer = responder.answer(
            to: DirectRequest(
                target: target, isHead: isHead, range: fields[.range], acceptEncoding: fields[.acceptEncoding]))
        guard case .response(let content) = answer, content.body.readableBytes <= Self.sizeLimit else { return nil }
        return (content, isHead)
    }

    private func send(_ response: DirectResponse, isHead: Bool, _ context: ChannelHandlerContext) {
        var fields = response.fields
        fields[.contentLength] = "\(response.body.readableBytes)"
        fields[.date] = HTTPDate.now
        let head = HTTPResponse(status: response.head.status, headerFields: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(response.body)), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
