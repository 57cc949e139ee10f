package import NIOCore
import NIOWebSocket
import ServiceLifecycle
import Synchronization

/// An open WebSocket that sends and receives messages.
///
/// Pings are answered automatically, and fragments are reassembled. A message of more than ``messageSizeLimit`` bytes
/// closes the connection with status 1009 (RFC 6455, section 7.4.1).
package struct WebSocketConnection: Sendable {
    /// Pings and pongs that are not admitted, until the connection is closed.
    package static let maximumExcess = 1_024
    /// RFC 6455, section 7.4.1.
    private static let policyViolation: UInt16 = 1_008
    private static let noStatus: UInt16 = 1_005

    /// The maximum size of a received message in bytes.
    package static let messageSizeLimit = 256 * 1024

    typealias Wrapped = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

    private let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
    private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    let channel: any Channel
    private let masksFrames: Bool
    private let closing = CloseOnce()
    private let unobserved = UnobservedBytes()

    /// A flag that ensures that only one close frame is sent, because browsers report a second one as an error (RFC
    /// 6455, section 5.5.1).
    private final class CloseOnce: Sendable {
        private let wasSent = Atomic(false)

        /// Returns true for the first call only.
        func begin() -> Bool { !wasSent.exchange(true, ordering: .relaxed) }
    }

    /// The sent bytes that the event loop has possibly not observed yet. The channel's writability, by which `outbound`
    /// waits, does not consider them.
    private final class UnobservedBytes: Sendable {
        private static let limit = 1 << 20
        private let count = Atomic(0)

        /// Counts sent bytes. Returns true if the event loop must observe them before more are sent.
        func add(_ bytes: Int) -> Bool {
            guard count.add(bytes, ordering: .relaxed).newValue >= Self.limit else { return false }
            count.store(0, ordering: .relaxed)
            return true
        }
    }

    /// The HTTP request that opened the WebSocket.
    package struct Request: Sendable {
        /// The `Host` field as received; nil if absent.
        package let host: String?
        /// The origin of the page that opened the WebSocket; nil if the client is not a browser (RFC 6455, section
        /// 10.2).
        package let origin: String?
        /// The path with the query as received.
        package let uri: String
        /// Returns the values of the header fields with a name, in order.
        package let fields: @Sendable (String) -> [String]
        /// The messages in the request; nil if there are none.
        let earlyMessages: EarlyMessages?
    }

    /// The request that opened the WebSocket; nil on the client's side.
    package let request: Request?

    /// The address of the peer; nil if the connection is closed.
    package var remoteAddress: SocketAddress? { channel.remoteAddress }

    /// The port of this host; nil if the connection is closed.
    package var localPort: Int? { channel.localAddress?.port }

    /// Runs `body` with the connection, and closes it when `body` returns or throws.
    static func run(
        _ wrapped: Wrapped, masksFrames: Bool, request: Request? = nil,
        _ body: @Sendable (WebSocketConnection) async throws -> Void
    ) async throws {
        try await wrapped.executeThenClose { inbound, outbound in
            let connection = WebSocketConnection(
                inbound: inbound, outbound: outbound, channel: wrapped.channel, masksFrames: masksFrames,
                request: request)
            try await body(connection)
        }
    }

    /// Calls `body` for each message until the peer closes the connection or it breaks. Those in the request are the
    /// first ones.
    ///
    /// `onActivity` is called for each ping and pong, which show that the peer is reachable. `onServerEnding` is called
    /// when the server stops, and must close the connection. If it is nil, the connection is closed with status 1001.
    /// `onClose` receives the status of the peer's close frame, or 1005 if the frame has none.
    ///
    /// - Throws: An error of `body` or of the connection.
    package func forEachMessage(
        _ body: @Sendable (WebSocketMessage) async throws -> Void,
        admitsControl: (@Sendable () async -> Bool)? = nil, onActivity: @Sendable () async -> Void = {},
        onServerEnding: (@Sendable () async -> Void)? = nil, onClose: @Sendable (UInt16) async -> Void = { _ in }
    ) async throws {
        try await withGracefulShutdownHandler {
            try await receive(body, admitsControl, onActivity, onClose)
        } onGracefulShutdown: {
            Task {
                if let onServerEnding { await onServerEnding() } else { await close(status: 1_001) }
            }
        }
    }

    private func receive(
        _ body: @Sendable (WebSocketMessage) async throws -> Void, _ admitsControl: (@Sendable () async -> Bool)?,
        _ onActivity: @Sendable () async -> Void, _ onClose: @Sendable (UInt16) async -> Void
    ) async throws {
        for message in request?.earlyMessages?.take() ?? [] { try await body(.text(message)) }
        var excess = 0
        var nextControl = NIODeadline.now()
        for try await received in inbound {
            if received.opcode == .ping || received.opcode == .pong, let admitsControl {
                let now = NIODeadline.now()
                if now >= nextControl {
                    nextControl = now + .seconds(1)
                } else if await !admitsControl() {
                    excess += 1
                    if excess >= Self.maximumExcess { return await close(status: Self.policyViolation) }
                    continue
                }
            }
            switch received.opcode {
            case .text: try await body(.text(String(buffer: received.unmaskedData)))
            case .binary: try await body(.binary(Array(buffer: received.unmaskedData)))
            case .ping:
                try await outbound.write(frame(.pong, received.unmaskedData))
                await onActivity()
            case .pong: await onActivity()
            case .connectionClose:
                let data = received.unmaskedData
                if closing.begin() { try? await outbound.write(frame(.connectionClose, data)) }
                await onClose(data.getInteger(at: data.readerIndex) ?? Self.noStatus)
                return
            default: continue
            }
        }
    }

    /// Sends a message. It waits while the peer receives too slowly, so a slow receiver only delays its own sender.
    ///
    /// - Throws: An error if the connection is broken.
    package func send(_ message: WebSocketMessage) async throws {
        let frame =
            switch message {
            case .text(let text): frame(.text, ByteBuffer(string: text))
            case .binary(let bytes): frame(.binary, ByteBuffer(bytes: bytes))
            }
        try await outbound.write(frame)
        if unobserved.add(frame.length) { try await channel.eventLoop.submit {}.get() }
    }

    /// Sends a ping.
    ///
    /// - Throws: An error if the connection is broken.
    package func ping() async throws { try await outbound.write(frame(.ping, ByteBuffer())) }

    /// Sends a close frame; the peer then closes the connection. `status` is 1000 for normal closure or 1001 if this
    /// endpoint stops (RFC 6455, section 7.4.1). `reason` has at most 123 bytes.
    package func close(status: UInt16 = 1_000, reason: String = "") async {
        guard closing.begin() else { return }
        var data = ByteBuffer(integer: status)
        data.writeString(reason)
        try? await outbound.write(frame(.connectionClose, data))
    }

    /// Sends a close frame to a peer whose messages were not read, and waits until the peer closes the connection (RFC 6455,
    /// section 7.1.1). The connection is cut after five seconds.
    ///
    /// If it was closed at once, its end could arrive together with the response that opens it. A client that processes
    /// the end first loses the messages in between.
    package func refuse(status: UInt16) async {
        await close(status: status)
        let cutting = Task {
            try await Task.sleep(for: .seconds(5))
            cut()
        }
        try? await forEachMessage { _ in
        } admitsControl: {
            false
        }
        cutting.cancel()
    }

    /// Closes the connection without a close frame, and drops pending messages.
    package func cut() { channel.close(promise: nil) }

    private func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: masksFrames ? .random() : nil, data: data)
    }

    /// Adds the handlers of all WebSockets to a pipeline and wraps it. It must be called on the channel's event loop.
    static func wrap(_ channel: any Channel, isServer: Bool) throws -> Wrapped {
        // A server with thousands of idle connections keeps one small buffer per connection. Four buffers that had
        // grown for earlier messages used 6 kB.
        if isServer, let options = channel.syncOptions {
            try options.setOption(.maxMessagesPerRead, value: 1)
            try options.setOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 1_024))
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(WebSocketFrameCheck(isServer: isServer))
        try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024,
                maxAccumulatedFrameSize: messageSizeLimit))
        try pipeline.addHandler(WebSocketViolationHandler(isServer: isServer))
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }
}

/// A complete WebSocket message, reassembled from its fragments (RFC 6455, section 5.6).
package enum WebSocketMessage: Sendable, Hashable {
    case text(String)
    case binary([UInt8])
}

/// The first text messages of a client, which are in the request that opens the WebSocket.
///
/// A client must not send frames before the server's response (RFC 6455, section 4.1). The field
/// ``EarlyMessages/field`` saves that round trip: its value is the messages, with commas between them. A server that
/// reads them has the number of messages in the same field of its response. Other servers ignore the field, and the
/// client sends the messages as frames. Browsers cannot set the field, so pages of other origins cannot use it.
package final class EarlyMessages: Sendable {
    static let field = "PCast-Messages"
    /// The maximum size of the value in bytes. Proxies limit a field to 8 kB (nginx: `large_client_header_buffers`).
    static let sizeLimit = 7_000
    /// The maximum number of messages.
    static let countLimit = 8
    private static let separator: UInt8 = 0x2C

    private let messages: Mutex<[String]>

    /// Reads the fields of a request with this name. Returns nil unless there is exactly one within the limits.
    init?(_ fields: [String]) {
        guard fields.count == 1, (1...Self.sizeLimit).contains(fields[0].utf8.count) else { return nil }
        let messages = fields[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard messages.count <= Self.countLimit, messages.allSatisfy(Self.isAllowed) else { return nil }
        self.messages = Mutex(messages)
    }

    /// The value of the response's field.
    var confirmation: String { "\(messages.withLock { $0.count })" }

    /// Returns the messages, only once, so that an idle connection does not keep them.
    func take() -> [String] {
        messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }

    /// Divides messages into the first ones, which the field may have, and the others.
    static func divide(_ messages: [String]) -> (early: [String], others: [String]) {
        var size = 0
        let early = messages.prefix(countLimit).prefix { message in
            size += message.utf8.count + 1
            return size <= sizeLimit && isAllowed(message)
        }
        return (Array(early), Array(messages.dropFirst(early.count)))
    }

    /// Returns the value of the field.
    static func join(_ messages: [String]) -> String { messages.joined(separator: ",") }

    /// Returns whether the field may have a message: it is visible ASCII, such as Base64, without the separator.
    private static func isAllowed(_ message: String) -> Bool {
        !message.isEmpty && message.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != separator }
    }
}

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
