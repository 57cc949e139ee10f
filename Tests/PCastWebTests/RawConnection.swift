import NIOCore
import NIOPosix
import Synchronization

/// A TCP connection that sends any bytes, and records the received ones.
final class RawConnection: Sendable {
    private struct State {
        var received: [UInt8] = []
        var isClosed = false
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let state = Mutex(State())

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data).readableBytesView
            state.withLock { $0.received += bytes }
        }

        func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isClosed = true } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let port: Int
    private let reads: Bool
    private let collector = Collector()
    /// Nil before the first bytes are sent.
    private let channel = Mutex<(any Channel)?>(nil)

    /// Creates a connection to a port, which is opened with the first bytes, because the server closes a connection
    /// without a request after 30 s. If `reads` is false, nothing is read.
    init(port: Int, reads: Bool = true) { (self.port, self.reads) = (port, reads) }

    var received: [UInt8] { collector.state.withLock { $0.received } }
    var text: String { String(decoding: received, as: UTF8.self) }
    var isClosed: Bool { collector.state.withLock { $0.isClosed } }

    func send(_ bytes: [UInt8]) async throws {
        let buffer = ByteBuffer(bytes: bytes)
        if let opened = channel.withLock({ $0 }) { return try await opened.writeAndFlush(buffer) }
        let opened = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelInitializer { [collector] in $0.pipeline.addHandler(collector) }
            .connect(host: "127.0.0.1", port: port)
            .flatMap { channel in channel.writeAndFlush(buffer).map { channel } }.get()
        channel.withLock { $0 = opened }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Closes the connection, unless the server has closed it.
    func close() async throws {
        do {
            try await channel.withLock { $0 }?.close()
        } catch ChannelError.alreadyClosed {}
    }

    /// Ends the direction to the server.
    func closeOutput() async throws { try await channel.withLock { $0 }?.close(mode: .output) }

    /// Requests a WebSocket, and waits for the response.
    ///
    /// - Returns: The head of the response.
    func upgrade(path: String = "/ws", headers: [String] = []) async throws -> String {
        let lines =
            [
                "GET \(path) HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            ] + headers + ["", ""]
        try await send(lines.joined(separator: "\r\n"))
        _ = try await eventually { text.contains("\r\n\r\n") }
        return text
    }

    /// The bytes after the head of a response.
    var frames: [UInt8] {
        let end = Array("\r\n\r\n".utf8)
        guard let range = received.firstRange(of: end) else { return [] }
        return Array(received[range.upperBound...])
    }
}

/// Returns a WebSocket frame (RFC 6455, section 5.2).
func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true, bits: UInt8 = 0) -> [UInt8]
{
    var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | bits | opcode]
    let flag: UInt8 = isMasked ? 0x80 : 0
    switch payload.count {
    case ..<126: bytes.append(flag | UInt8(payload.count))
    case ..<65_536: bytes += [flag | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default: bytes += [flag | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
    if isMasked { bytes += mask }
    bytes += isMasked ? payload.enumerated().map { $1 ^ mask[$0 & 3] } : payload
    return bytes
}
