import CSRT
import Dispatch
import Foundation
import PCastCore
import PCastHLS
import PCastRTMP
import PCastSRT
import PCastTestSupport
import Synchronization
import Testing

@testable import PCastPlatform

/// Clients that publish or view by SRT, whose part libsrt plays.
@Suite("SRT publishers and viewers", .timeLimit(.minutes(5)))
struct SRTPublisherTests {
    private func run(
        _ configure: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (TestPlatform, _ port: Int) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured { configuration in
            configuration.srt.port = 0
            configure(&configuration)
        } _: { platform in
            try await body(platform, try #require(platform.listening.srtPort))
        }
    }

    private func publish(_ id: String, to platform: TestPlatform, _ port: Int) async throws -> SRTEncoder {
        let encoder = try #require(await SRTEncoder.connect(id, to: port).encoder)
        #expect(
            try await eventually {
                guard encoder.sendFrame() else { return false }
                return await platform.platform.streams().count == 1
            })
        return encoder
    }

    @Test("a publisher has a stream until it closes its connection, in each form of the stream ID")
    func life() async throws {
        try await run { platform, port in
            let token = try Tokens.publishing()
            for id in [token, "ingest/\(token)", "#!::m=publish,r=studio,u=me,s=\(token)"] {
                let encoder = try await publish(id, to: platform, port)
                #expect(try await platform.reaches("pcast_srt_connections", 1))
                encoder.close()
                #expect(try await platform.reaches("pcast_streams", 0))
                #expect(try await platform.reaches("pcast_srt_connections", 0))
            }
        }
    }

    @Test(
        "clients are rejected with the code of the reason",
        arguments: [
            ("wrong", SRT_REJX_UNAUTHORIZED), ("#!::m=publish,r=a,s=wrong", SRT_REJX_UNAUTHORIZED),
            ("#!::r=stream", SRT_REJX_NOTFOUND), ("#!::m=request,r=a,s=wrong", SRT_REJX_UNAUTHORIZED),
            ("#!::m=request", SRT_REJX_NOTFOUND), ("#!::m=bidirectional,r=a", SRT_REJX_BAD_MODE),
            ("#!::r", SRT_REJX_BAD_REQUEST), ("#!::t=file,m=publish,r=a", SRT_REJX_NOTSUP_MEDIA),
        ])
    func rejected(id: String, code: Int32) async throws {
        try await run { (platform, port) async throws in
            #expect(await SRTEncoder.connect(id, to: port).rejection == code)
            #expect(try await platform.reaches("pcast_srt_publishers_rejected_total", 1))
        }
    }

    @Test("a stream key is valid until it is revoked, and has one publisher")
    func key() async throws {
        try await run { platform, port in
            let answer = try await platform.ask("PUT", "/pcast/key/a", #"{"tags":["studio"]}"#)
            let text = try #require(answer.body.firstMatch(of: /"streamKey":"([^"]+)"/)?.1)
            let encoder = try await publish(String(text), to: platform, port)
            #expect(await platform.platform.streams().first?.tags == ["studio"])
            // A publisher that is silent would be replaced.
            #expect(
                try await eventually {
                    guard encoder.sendFrame() else { return false }
                    return await SRTEncoder.connect(String(text), to: port).rejection == SRT_REJX_CONFLICT
                })
            #expect(try await platform.ask("DELETE", "/pcast/key/a").status == 200)
            #expect(try await platform.reaches("pcast_streams", 0))
            #expect(await SRTEncoder.connect(String(text), to: port).rejection == SRT_REJX_UNAUTHORIZED)
            encoder.close()
        }
    }

    @Test("with --rtmp-takeover, the second publisher replaces the first one")
    func takeover() async throws {
        try await run({ $0.rtmp.takesOver = true }) { platform, port in
            let token = try Tokens.publishing()
            let first = try await publish(token, to: platform, port)
            let former = try #require(await platform.platform.streams().first?.id)
            let second = try #require(await SRTEncoder.connect(token, to: port).encoder)
            #expect(
                try await eventually {
                    guard second.sendFrame() else { return false }
                    let streams = await platform.platform.streams()
                    return streams.count == 1 && streams[0].id != former
                })
            first.close()
            second.close()
        }
    }

    @Test("a passphrase is required if one is configured")
    func passphrase() async throws {
        try await run({ $0.srt.passphrase = "0123456789" }) { platform, port in
            let token = try Tokens.publishing()
            #expect(await SRTEncoder.connect(token, to: port).rejection != nil)
            #expect(await SRTEncoder.connect(token, to: port, passphrase: "another one").rejection != nil)
            let encoder = try #require(await SRTEncoder.connect(token, to: port, passphrase: "0123456789").encoder)
            encoder.close()
        }
    }

    @Test("a publisher that sends no transport stream has no stream, and others continue")
    func garbage() async throws {
        try await run { platform, port in
            let noise = try #require(
                await SRTEncoder.connect(try Tokens.make { $0.forPublishingOnly().applyTag("noise") }, to: port).encoder
            )
            for index in 0..<100 as Range<UInt8> {
                #expect(noise.send([UInt8](repeating: index, count: 1_316)))
            }
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            #expect(await platform.platform.streams().count == 1)
            noise.close()
            encoder.close()
        }
    }

    @Test("each audio track of a publisher is listed by REST, and is a rendition of HLS with its language")
    func languages() async throws {
        try await run({ $0.hls.packagesEveryStream = true }) { platform, port in
            let encoder = try #require(await SRTEncoder.connect(try Tokens.publishing(), to: port).encoder)
            let tracks = ["ger", "eng", "und"].enumerated().map { index, language in
                TransportStreamBuilder.Stream(
                    pid: 300 + UInt16(index), type: 0x06,
                    descriptors: TransportStreamBuilder.Stream.opus.descriptors + [0x0A, 4] + Array(language.utf8) + [0]
                )
            }
            // The encoder sends in real time.
            let start = ContinuousClock.now
            let sender = Task {
                while !Task.isCancelled, encoder.sendAudio(tracks, until: ContinuousClock.now - start) {
                    try? await ContinuousClock().sleep(for: .milliseconds(20))
                }
            }
            defer { sender.cancel() }
            #expect(try await eventually { await platform.platform.streams().count == 1 })
            let stream = try #require(await platform.platform.streams().first?.id)
            var found: [PCastHLS.Rendition] = []
            #expect(
                try await eventually {
                    let answer = try await platform.send("GET", "/video/\(stream)/index.m3u8?audio=opus")
                    guard answer.status == 200 else { return false }
                    found = try MultivariantPlaylist(answer.body).renditions
                    return found.count == 3
                })
            #expect(found.map(\.name) == ["Deutsch", "English", "Audio 3"])
            #expect(found.map(\.language) == ["de", "en", nil])
            #expect(found.map(\.isDefault) == [true, false, false])
            let listed = try await platform.ask("GET", "/pcast/streams").body
            let languages = listed.matches(of: /"language":"([^"]+)"/).map { String($0.1) }
            #expect(languages == ["de", "en"])
            sender.cancel()
            await sender.value
            encoder.close()
        }
    }

    // MARK: Viewers

    @Test("a viewer receives the stream as a transport stream, and counts until it leaves")
    func view() async throws {
        try await run { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            let stream = try #require(await platform.platform.streams().first?.id)
            let id = "#!::m=request,r=\(stream),s=\(try Tokens.viewing())"
            let viewer = try #require(await SRTEncoder.connect(id, to: port).encoder)
            var demuxer = TransportStreamDemuxer()
            var frames: [RTMPAccessUnit] = []
            #expect(
                try await eventually {
                    guard encoder.sendFrame() else { return false }
                    let bytes = viewer.receive()
                    demuxer.receive(bytes.span) { event in
                        if case .accessUnit(let unit) = event { frames.append(unit) }
                    }
                    return frames.count >= 3
                })
            #expect(frames.first?.isKeyFrame == true)
            #expect(demuxer.statistics.gaps == 0)
            #expect(try await platform.reaches("pcast_srt_viewers", 1))
            #expect(try await platform.reaches("pcast_viewers", 1))
            viewer.close()
            #expect(try await platform.reaches("pcast_srt_viewers", 0))
            #expect(try await platform.reaches("pcast_viewers", 0))
            encoder.close()
        }
    }

    @Test("viewers without permission, beyond the limit, and of ended streams are rejected or disconnected")
    func viewersRejected() async throws {
        try await run({ $0.limits[.viewers] = 1 }) { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            let stream = try #require(await platform.platform.streams().first?.id)
            let others = try Tokens.make { $0.forStreamingOnly().forOriginStream("another") }
            #expect(
                await SRTEncoder.connect("#!::m=request,r=\(stream),s=\(others)", to: port).rejection
                    == SRT_REJX_UNAUTHORIZED)
            let publishing = try Tokens.publishing()
            #expect(
                await SRTEncoder.connect("#!::m=request,r=\(stream),s=\(publishing)", to: port).rejection
                    == SRT_REJX_UNAUTHORIZED)
            let viewer = try #require(await SRTEncoder.connect("request:\(stream)", to: port).encoder)
            #expect(try await platform.reaches("pcast_viewers", 1))
            #expect(
                await SRTEncoder.connect("request:\(stream)", to: port).rejection == SRT_REJX_OVERLOAD)
            encoder.close()
            #expect(try await eventually { viewer.isClosed })
            #expect(try await platform.reaches("pcast_viewers", 0))
            #expect(
                await SRTEncoder.connect("request:\(stream)", to: port).rejection == SRT_REJX_NOTFOUND)
        }
    }

    @Test("all streams end when the platform stops")
    func stop() async throws {
        try await run { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            platform.end()
            await platform.isOver()
            #expect(try await eventually { encoder.isClosed })
            encoder.close()
        }
    }
}

/// An SRT client with libsrt.
private final class SRTEncoder: Sendable {
    private static let isStarted: Bool = {
        srt_startup()
        return true
    }()

    private let socket: SRTSOCKET
    /// The number of frames that were sent, and the continuity counters of their packets.
    private let state = Mutex((frameCount: UInt64(0), builder: TransportStreamBuilder()))

    private init(_ socket: SRTSOCKET) { self.socket = socket }

    /// Connects to a port. Returns the encoder, or the code with which it was rejected.
    static func connect(
        _ id: String, to port: Int, passphrase: String? = nil
    ) async -> (encoder: SRTEncoder?, rejection: Int32?) {
        await withCheckedContinuation { continuation in
            // Connecting waits, which must not block a thread of Swift concurrency.
            DispatchQueue.global().async { continuation.resume(returning: connected(id, port, passphrase)) }
        }
    }

    private static func connected(
        _ id: String, _ port: Int, _ passphrase: String?
    ) -> (encoder: SRTEncoder?, rejection: Int32?) {
        _ = isStarted
        let socket = srt_create_socket()
        let text = Array(id.utf8)
        srt_setsockflag(socket, SRTO_STREAMID, text, Int32(text.count))
        // A delayed thread of either side neither ends the connection nor drops packets.
        var timeout: Int32 = 120_000
        for option in [SRTO_CONNTIMEO, SRTO_PEERIDLETIMEO] {
            srt_setsockflag(socket, option, &timeout, Int32(MemoryLayout<Int32>.size))
        }
        var dropsLatePackets = false
        srt_setsockflag(socket, SRTO_TLPKTDROP, &dropsLatePackets, Int32(MemoryLayout<Bool>.size))
        if let passphrase {
            let secret = Array(passphrase.utf8)
            srt_setsockflag(socket, SRTO_PASSPHRASE, secret, Int32(secret.count))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                srt_connect(socket, $0, Int32(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result >= 0 else {
            let reason = srt_getrejectreason(socket)
            srt_close(socket)
            return (nil, reason)
        }
        // Receiving does not wait.
        var isBlocking = false
        srt_setsockflag(socket, SRTO_RCVSYN, &isBlocking, Int32(MemoryLayout<Bool>.size))
        return (SRTEncoder(socket), nil)
    }

    /// Sends the tables of the program and a key frame. Returns whether the connection exists.
    func sendFrame() -> Bool {
        let bytes = state.withLock { state in
            let start = state.builder.bytes.count
            state.builder.program([.h264])
            state.builder.media(
                .h264, TransportStreamBuilder.keyFrame(), presentation: 90_000 + state.frameCount * 3_600)
            state.frameCount += 1
            return Array(state.builder.bytes[start...])
        }
        return send(bytes)
    }

    /// Sends the tables of the program, and the packets of audio tracks with Opus up to a time from the start. Returns whether
    /// the connection exists.
    func sendAudio(_ tracks: [TransportStreamBuilder.Stream], until time: Duration) -> Bool {
        let bytes = state.withLock { state in
            let start = state.builder.bytes.count
            state.builder.program(tracks)
            while Duration.milliseconds(20 * state.frameCount) < time {
                for track in tracks {
                    state.builder.media(
                        track, TransportStreamBuilder.opus([1, 2, 3]), presentation: 90_000 + state.frameCount * 1_800,
                        hasLength: true)
                }
                state.frameCount += 1
            }
            return Array(state.builder.bytes[start...])
        }
        return send(bytes)
    }

    /// Sends bytes in messages of at most seven packets. Returns whether the connection exists.
    func send(_ bytes: [UInt8]) -> Bool {
        for start in stride(from: 0, to: bytes.count, by: 1_316) {
            let part = bytes[start..<min(start + 1_316, bytes.count)].map { CChar(bitPattern: $0) }
            guard srt_sendmsg(socket, part, Int32(part.count), -1, 1) >= 0 else { return false }
        }
        return true
    }

    /// Receives the bytes that have arrived, without waiting.
    func receive() -> [UInt8] {
        var bytes: [UInt8] = []
        var message = [CChar](repeating: 0, count: 1_456)
        while true {
            let count = srt_recvmsg(socket, &message, Int32(message.count))
            guard count > 0 else { return bytes }
            bytes += message[..<Int(count)].map { UInt8(bitPattern: $0) }
        }
    }

    /// Whether the other side has closed the connection.
    var isClosed: Bool { srt_getsockstate(socket) != SRTS_CONNECTED }

    func close() { srt_close(socket) }
}
