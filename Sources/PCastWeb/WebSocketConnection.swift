public import NIOCore
import NIOWebSocket
import ServiceLifecycle
import Synchronization

/// An open WebSocket: messages in, messages out.
///
/// Pings are answered here, pongs and fragments never reach the caller, and a message larger than `messageSizeLimit`
/// closes the connection with 1009 (RFC 6455, section 7.4.1).
public struct WebSocketConnection: Sendable {
    /// Pings and pongs that are not admitted, until the connection is closed.
    public static let maximumExcess = 1_024
    /// RFC 6455, section 7.4.1.
    private static let policyViolation: UInt16 = 1_008

    /// The largest message taken in, in bytes.
    public static let messageSizeLimit = 256 * 1024

    typealias Wrapped = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

    private let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
    private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    let channel: any Channel
    private let masksFrames: Bool
    private let goodbye = Goodbye()

    /// A close frame is sent once: browsers take another one for an error (RFC 6455, section 5.5.1).
    private final class Goodbye: Sendable {
        private let isSaid = Atomic(false)

        /// Whether nobody has said it.
        func begin() -> Bool { !isSaid.exchange(true, ordering: .relaxed) }
    }

    /// What the request for the WebSocket said of where it comes from; nil at a client's end.
    public struct Request: Sendable {
        /// `Host`, as the client wrote it.
        public let host: String?
        /// The page that opened the WebSocket; nil when no page did (RFC 6455, section 10.2).
        public let origin: String?
        /// The path with its query, as the client wrote it.
        public let uri: String
        /// The values of the header fields of a name, in their order.
        public let fields: @Sendable (String) -> [String]
    }

    public let request: Request?

    /// The address of the other side; nil when it is gone already.
    public var remoteAddress: SocketAddress? { channel.remoteAddress }

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

    /// Calls `body` for each message until the other side closes or the connection breaks.
    ///
    /// - Parameters:
    ///   - admitsControl: asked for each ping and pong that comes less than a second after another. One that is not admitted
    ///     is not answered and counts as no activity; after `maximumExcess` of them the connection is closed with 1008. Nil
    ///     admits all of them.
    ///   - onActivity: called for each ping and pong, by which the other side shows that it is there.
    ///   - onServerEnding: called when the server that took the connection ends: say what is to be said, and close.
    ///     Nil closes with 1001.
    /// - Throws: what `body` throws, or an error of the connection.
    public func forEachMessage(
        _ body: @Sendable (WebSocketMessage) async throws -> Void,
        admitsControl: (@Sendable () async -> Bool)? = nil, onActivity: @Sendable () async -> Void = {},
        onServerEnding: (@Sendable () async -> Void)? = nil
    ) async throws {
        try await withGracefulShutdownHandler {
            try await receive(body, admitsControl, onActivity)
        } onGracefulShutdown: {
            Task {
                if let onServerEnding { await onServerEnding() } else { await close(status: 1_001) }
            }
        }
    }

    private func receive(
        _ body: @Sendable (WebSocketMessage) async throws -> Void, _ admitsControl: (@Sendable () async -> Bool)?,
        _ onActivity: @Sendable () async -> Void
    ) async throws {
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
                if goodbye.begin() { try? await outbound.write(frame(.connectionClose, received.unmaskedData)) }
                return
            default: continue
            }
        }
    }

    /// Sends one message; returns when the socket has taken it, so a slow reader holds up its sender alone.
    public func send(_ message: WebSocketMessage) async throws {
        switch message {
        case .text(let text): try await outbound.write(frame(.text, ByteBuffer(string: text)))
        case .binary(let bytes): try await outbound.write(frame(.binary, ByteBuffer(bytes: bytes)))
        }
    }

    /// Asks the other side for a sign of life.
    public func ping() async throws { try await outbound.write(frame(.ping, ByteBuffer())) }

    /// Says goodbye; the other side answers and the connection ends.
    ///
    /// - Parameters:
    ///   - status: 1000 when all is said, 1001 when this side goes away (RFC 6455, section 7.4.1).
    ///   - reason: in at most 123 bytes.
    public func close(status: UInt16 = 1_000, reason: String = "") async {
        guard goodbye.begin() else { return }
        var data = ByteBuffer(integer: status)
        data.writeString(reason)
        try? await outbound.write(frame(.connectionClose, data))
    }

    /// Ends the connection without a word, whatever waits.
    public func cut() { channel.close(promise: nil) }

    private func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: masksFrames ? .random() : nil, data: data)
    }

    /// Adds what every WebSocket pipeline has, and wraps it. To be called on the channel's event loop.
    static func wrap(_ channel: any Channel, isServer: Bool) throws -> Wrapped {
        // A server's thousands of quiet connections keep one small buffer each: four that had grown with what was once read
        // took 6 kB.
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
