import NIOCore
import NIOPosix
import Synchronization

/// A TCP connection that sends HTTP byte by byte, and keeps what arrives.
final class RawRequest: Sendable {
    private struct State {
        var text = ""
        var isEnded = false
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let state = Mutex(State())

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            state.withLock { $0.text += text }
        }

        func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isEnded = true } }
    }

    private let channel: any Channel
    private let collector: Collector

    /// Connects and sends a request at once, because the platform closes a connection without one after 30 s.
    init(_ platform: TestPlatform, lines: [String], body: String = "") async throws {
        let collector = Collector()
        let port = Int(platform.uri.split(separator: ":").last ?? "") ?? 0
        let request = ByteBuffer(string: (lines + ["", ""]).joined(separator: "\r\n") + body)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(collector) }.connect(host: "127.0.0.1", port: port)
            .flatMap { channel in channel.writeAndFlush(request).map { channel } }.get()
        self.collector = collector
    }

    var text: String { collector.state.withLock { $0.text } }
    /// Whether the other end has closed the connection.
    var isEnded: Bool { collector.state.withLock { $0.isEnded } }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// Waits for a number of status lines, including interim ones.
    func statuses(_ count: Int) async throws -> [Int] {
        let read = { [self] in
            text.components(after: "HTTP/1.").compactMap { Int($0.dropFirst(2).prefix(3)) }
        }
        _ = try await eventually { read().count >= count || isEnded }
        return read()
    }

    func close() async throws { try await channel.close() }
}

extension String {
    fileprivate func components(after mark: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let range = rest.firstRange(of: mark) {
            rest = rest[range.upperBound...]
            parts.append(rest)
        }
        return parts
    }
}
