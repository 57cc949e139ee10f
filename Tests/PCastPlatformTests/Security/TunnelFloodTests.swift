import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import PCastCore
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization
import Testing

@testable import PCastPlatform

/// Clients of the tunnel that write and never read.
@Suite("Floods of the tunnel") struct TunnelFloodTests {
    /// Writes as much as possible, and reads nothing after the handshake.
    private final class Flood: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let bytes: ByteBuffer
        private let repeats: Bool

        init(_ bytes: [UInt8], repeats: Bool) { (self.bytes, self.repeats) = (ByteBuffer(bytes: bytes), repeats) }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case TLSUserEvent.handshakeCompleted = event else { return }
            _ = context.channel.setOption(.autoRead, value: false)
            // Within the event, the TLS handler would keep the bytes until it reads the next time.
            context.eventLoop.assumeIsolated().execute { self.write(context) }
        }

        private func write(_ context: ChannelHandlerContext) {
            guard bytes.readableBytes > 0 else { return }
            context.write(wrapOutboundOut(bytes), promise: nil)
            context.flush()
            if repeats, context.channel.isWritable {
                context.eventLoop.assumeIsolated().execute { self.write(context) }
            }
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            if repeats, context.channel.isWritable { write(context) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private static func connect(port: Int, _ bytes: [UInt8], repeats: Bool = true) async throws -> any Channel {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        let context = try NIOSSLContext(configuration: configuration)
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: nil), Flood(bytes, repeats: repeats))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// Returns a Binding request (RFC 8489, section 5) without attributes.
    private static func binding(_ number: UInt8) -> [UInt8] {
        [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + [UInt8](repeating: number, count: 12)
    }

    @Test("fifty clients that send endless requests and read nothing are disconnected, and use little memory")
    func bindings() async {
        // The test has its own process, because the memory of other tests would count as well.
        await #expect(processExitsWith: .success) { try await TunnelFloodTests.floodOfBindings() }
    }

    /// Floods a platform with requests for bindings. It runs in the process of the exit test.
    static func floodOfBindings() async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            let port = try #require(platform.listening.tlsPort)
            let before = try #require(ProcessMetrics.read()).memory
            let burst = (0..<200).flatMap { binding(UInt8($0)) }
            var channels: [any Channel] = []
            for _ in 0..<50 { channels.append(try await connect(port: port, burst)) }
            // The deadline of a client without an allocation is ten seconds.
            var most = before
            let areClosed = try await eventually {
                most = max(most, ProcessMetrics.read()?.memory ?? 0)
                return channels.allSatisfy { !$0.isActive }
            }
            #expect(areClosed, "\(channels.count { $0.isActive }) connections are open")
            #expect(most - before < 256 << 20, "\((most - before) >> 20) MiB")
            for channel in channels where channel.isActive { channel.close(promise: nil) }
            #expect(try await platform.send("GET", "/healthz").status == 200)
        }
    }

    /// Such a client sends no close_notify, for which NIOSSL waits five seconds. This test does not check that the platform
    /// closes the connection without that wait, because a busy machine delays both.
    @Test(
        "a client that reads nothing is disconnected, with or without a request",
        arguments: [binding(1), []] as [[UInt8]])
    func closing(_ request: [UInt8]) async throws {
        // A client without a request is disconnected after the default time.
        try await TestPlatform.runConfigured(
            tlsPort: 0, configure: { $0.firstRequestTimeout = .seconds(10) }
        ) { platform in
            let port = try #require(platform.listening.tlsPort)
            let channel = try await Self.connect(port: port, request, repeats: false)
            let isClosed = try await eventually { !channel.isActive }
            #expect(isClosed)
        }
    }
}

/// Endless WebSocket pings.
@Suite("Floods of pings") struct PingFloodTests {
    private final class Answers: Sendable {
        private let state = Mutex((pongs: 0, isClosed: false, hasBegun: false))

        var pongs: Int { state.withLock { $0.pongs } }
        var isClosed: Bool { state.withLock { $0.isClosed } }
        var hasBegun: Bool { state.withLock { $0.hasBegun } }

        func add() { state.withLock { $0.pongs += 1 } }
        func close() { state.withLock { $0.isClosed = true } }
        func begin() { state.withLock { $0.hasBegun = true } }
    }

    /// Sends pings until the platform closes the connection. A busy machine may send some of them within their rate.
    private static func floods(_ connection: WebSocketConnection, until answers: Answers) async throws -> Bool {
        try await eventually {
            for _ in 0..<5_000 where !answers.isClosed {
                guard (try? await connection.ping()) != nil else { break }
            }
            return answers.isClosed
        }
    }

    /// Checks that no more pings were answered than the limit permits: 50 at once, ten per second, and one more in each
    /// second. The platform's own pings count, too.
    private static func check(_ answers: Answers, since begin: Instant) {
        let most = 52 + Int(12 * (MonotonicClock.now() - begin).seconds)
        #expect((1...most).contains(answers.pongs), "\(answers.pongs) pings were answered")
    }

    @Test("pings count as requests, also before authentication, and a flood of them ends the connection")
    func flood() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 10 }) {
            (platform) async throws in
            let answers = Answers()
            let begin = MonotonicClock.now()
            try await WebSocketClient().connect(to: platform.uri + "/ws") { (connection) async throws in
                let reading = Task {
                    try? await connection.forEachMessage({ _ in }, onActivity: { answers.add() })
                    answers.close()
                }
                #expect(try await Self.floods(connection, until: answers))
                reading.cancel()
            }
            Self.check(answers, since: begin)
        }
    }

    @Test("pings on the changes of a timeline count too, and a flood of them ends the connection")
    func timeline() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 10 }) {
            (platform) async throws in
            let game = "/timeline/NHL/1"
            #expect(try await platform.ask("POST", game + "/events/a", "{}").status == 201)
            let answers = Answers()
            let begin = MonotonicClock.now()
            try await WebSocketClient().connect(to: platform.uri + game + "/changes") { (connection) async throws in
                let reading = Task {
                    try? await connection.forEachMessage({ _ in answers.begin() }, onActivity: { answers.add() })
                    answers.close()
                }
                try #require(try await eventually { answers.hasBegun })
                #expect(try await Self.floods(connection, until: answers))
                reading.cancel()
            }
            Self.check(answers, since: begin)
        }
    }
}
