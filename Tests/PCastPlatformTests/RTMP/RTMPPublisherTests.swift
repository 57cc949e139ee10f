import Logging
import PCastCore
import PCastDatabase
import PCastRTMP
import Testing

@testable import PCastPlatform

/// RTMP publishers of a real platform.
@Suite("RTMP publishers", .timeLimit(.minutes(5)))
struct RTMPPublisherTests {
    private func run(
        _ change: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (TestPlatform, _ port: Int) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured { configuration in
            configuration.rtmp.port = 0
            change(&configuration)
        } _: { platform in
            try await body(platform, try #require(platform.listening.rtmp.port))
        }
    }

    /// Publishes a key frame, and returns when the stream has media.
    private func publish(
        _ key: String, to platform: TestPlatform, _ port: Int, streams: Int = 1
    ) async throws -> RTMPEncoder {
        let encoder = try await RTMPEncoder.publish(key, to: port)
        #expect(try await encoder.receives("NetStream.Publish.Start"))
        try await encoder.sendConfiguration()
        try await encoder.sendFrame(isKeyFrame: true, timestamp: 0)
        #expect(try await platform.reaches("pcast_streams", streams))
        return encoder
    }

    /// Returns whether one stream of the application is counted as ended for a reason.
    private func counts(_ reason: String, _ platform: TestPlatform) async throws -> Bool {
        try await eventually {
            try await platform.send("GET", "/metrics").body.contains(
                #"pcast_streams_ended_total{application="first",reason="\#(reason)"} 1"#)
        }
    }

    private func streams(_ platform: TestPlatform) async throws -> String {
        try await platform.ask("GET", "/pcast/streams").body
    }

    @Test("a token is a key, and its stream has its tags and its codec, and ends with the publisher's command")
    func token() async throws {
        try await run { platform, port in
            let token = try Tokens.make { $0.forPublishingOnly().applyTag("studio") }
            let other = try await publish(token, to: platform, port)
            for text in ["studio", "H264", #""protocol":"rtmp""#] {
                #expect(try await eventually { try await streams(platform).contains(text) }, "\(text)")
            }
            try await other.unpublish()
            #expect(try await platform.reaches("pcast_streams", 0))
            #expect(try await other.receives("NetStream.Unpublish.Success"))
            #expect(try await counts("ended", platform))
        }
    }

    @Test("rare key frames are reported to the publisher, in the management API and in the log alike")
    func rareKeyFrames() async throws {
        try await run { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            for second in 1...5 as ClosedRange<UInt32> {
                try await encoder.sendFrame(isKeyFrame: second == 5, timestamp: second * 1_000)
            }
            #expect(try await encoder.receives("set the keyframe interval to 2 s or less"))
            #expect(try await encoder.receives("NetStream.Publish.Warning"))
            #expect(
                try await eventually {
                    let text = try await streams(platform)
                    return text.contains(#""code":"long-key-frame-interval""#)
                        && text.contains("set the keyframe interval to 2 s or less")
                })
        }
    }

    @Test("a lost connection ends the stream as failed")
    func lost() async throws {
        try await run { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            try await encoder.close()
            #expect(try await platform.reaches("pcast_streams", 0))
            #expect(try await counts("failed", platform))
            #expect(try await platform.reaches("pcast_rtmp_connections", 0))
        }
    }

    @Test("a stream that the backend ends reports the reason to its publisher")
    func censored() async throws {
        try await run { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            let stream = try #require(await platform.platform.streams().first?.id)
            let answer = try await platform.ask(
                "DELETE", "/pcast/stream", #"{"streamId":"\#(stream)","reason":"censored"}"#)
            #expect(answer.status == 200)
            #expect(try await encoder.receives("The platform has ended the stream: censored."))
            #expect(try await eventually { encoder.isClosed })
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }

    @Test("wrong keys and tokens of viewers are rejected alike")
    func wrong() async throws {
        try await run { platform, port in
            for key in ["wrong", try Tokens.viewing(), try Tokens.make(secret: "other") { $0.forPublishingOnly() }] {
                let encoder = try await RTMPEncoder.publish(key, to: port)
                #expect(try await encoder.receives("NetStream.Publish.BadName"))
                #expect(try await encoder.receives("The stream key is not valid: get a new one."))
                #expect(try await eventually { encoder.isClosed })
            }
            #expect(try await platform.reaches("pcast_rtmp_publishers_rejected_total", 3))
        }
    }

    @Test("an address with another application is rejected")
    func application() async throws {
        try await run { _, port in
            let encoder = try await RTMPEncoder.publish(try Tokens.publishing(), to: port, application: "live")
            #expect(try await encoder.receives("use rtmp://HOST/ingest and the stream key"))
        }
    }

    @Test("a client of this machine needs no key on loopback")
    func local() async throws {
        try await run { platform, port in
            _ = try await publish("", to: platform, port)
            let others = try await publish("", to: platform, port, streams: 2)
            try await others.close()
            #expect(try await platform.reaches("pcast_streams", 1))
        }
    }

    @Test("a second publisher with a key is rejected while the first one sends")
    func conflict() async throws {
        try await run { platform, port in
            let token = try Tokens.publishing()
            let first = try await publish(token, to: platform, port)
            let second = try await RTMPEncoder.publish(token, to: port)
            // The first one sends until the second one is answered.
            var timestamp: UInt32 = 0
            #expect(
                try await eventually {
                    timestamp += 20
                    try await first.sendFrame(isKeyFrame: false, timestamp: timestamp)
                    return second.hasReceived("Another publisher uses this stream key")
                })
            #expect(!first.isClosed)
            #expect(try await platform.figure("pcast_streams") == 1)
        }
    }

    @Test("with --rtmp-takeover, the second publisher replaces the first one")
    func takeover() async throws {
        try await run({ $0.rtmp.takesOver = true }) { platform, port in
            let token = try Tokens.publishing()
            let first = try await publish(token, to: platform, port)
            let former = try #require(await platform.platform.streams().first?.id)
            let second = try await RTMPEncoder.publish(token, to: port)
            #expect(try await first.receives("replaced by another publisher"))
            #expect(try await second.receives("NetStream.Publish.Start"))
            try await second.sendConfiguration()
            try await second.sendFrame(isKeyFrame: true, timestamp: 0)
            #expect(
                try await eventually {
                    let streams = await platform.platform.streams()
                    return streams.count == 1 && streams[0].id != former
                })
            #expect(!second.isClosed)
        }
    }

    @Test("a publisher over the limit of streams is rejected, and its place is free after it has ended")
    func limit() async throws {
        try await run({ $0.limits[.streams] = 1 }) { platform, port in
            let first = try await publish(try Tokens.publishing(), to: platform, port)
            let second = try await RTMPEncoder.publish(
                try Tokens.make { $0.forPublishingOnly().applyTag("second") }, to: port)
            #expect(try await second.receives("NetStream.Publish.Rejected"))
            try await first.close()
            // The place is free a moment after the stream is not listed any more.
            #expect(
                try await eventually {
                    try await RTMPEncoder.publish(try Tokens.publishing(), to: port).isAccepted()
                })
        }
    }

    @Test("packaging and recording need a token that permits them")
    func capabilities() async throws {
        try await run { platform, port in
            let token = try Tokens.publishing()
            let encoder = try await publish("\(token);capabilities=streaming,video-only", to: platform, port)
            #expect(try await encoder.receives("These capabilities have no effect or need a token: streaming."))
            #expect(try await platform.figure("pcast_hls_streams") == 0)
        }
    }

    @Test("publishers receive the reason when the platform stops")
    func stop() async throws {
        try await run { platform, port in
            let encoder = try await publish(try Tokens.publishing(), to: platform, port)
            platform.end()
            await platform.isOver()
            #expect(try await eventually { encoder.isClosed })
            #expect(encoder.hasReceived("NetConnection.Connect.AppShutdown"))
        }
    }
}

@Suite("Stream keys of RTMP publishers")
struct IngestAccessTests {
    private static let address = IPAddress("192.0.2.1")

    private func access() throws -> IngestAccess {
        IngestAccess(
            authenticator: TokenAuthenticator([TestPlatform.application], allowsAnonymousLoopback: false),
            limiter: RequestLimiter(), records: try Records.inMemory(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func time(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test("after ten wrong keys an address must wait, and then a valid key is accepted")
    func attempts() async throws {
        let access = try access()
        let wrong = "wrong"
        for _ in 0..<10 {
            let error = await #expect(throws: APIError.self) {
                _ = try await access.identify(wrong, from: Self.address, at: time(0))
            }
            #expect(error?.kind == .unauthorized)
        }
        let valid = try Tokens.publishing()
        let error = await #expect(throws: APIError.self) {
            _ = try await access.identify(valid, from: Self.address, at: time(0))
        }
        #expect(error?.kind == .rateLimited)
        _ = try await access.identify(valid, from: IPAddress("192.0.2.2"), at: time(0))
        _ = try await access.identify(valid, from: Self.address, at: time(60))
    }

    @Test("only clients of this machine need no key on loopback, and those behind a proxy do")
    func local() {
        #expect(ClientContext(connectionFrom: .loopbackV4, isTrustedProxy: false).isOnThisMachine)
        #expect(!ClientContext(connectionFrom: .loopbackV4, isTrustedProxy: true).isOnThisMachine)
        #expect(!ClientContext(connectionFrom: Self.address, isTrustedProxy: false).isOnThisMachine)
    }
}

@Suite("Frames that wait for the SFU")
struct IngestBacklogTests {
    private func frame(isKeyFrame: Bool, layer: Int = 0, codec: Codec = .h264) -> IngestFeed.Frame {
        .init(
            frame: EncodedFrame(
                codec: codec, bytes: [1], isKeyFrame: isKeyFrame,
                timestamp: MediaTime(ticks: 0, rate: codec.clockRate), captureTime: nil), layer: layer)
    }

    @Test("dropped layers continue at their next key frame, and audio continues at once")
    func drop() {
        var backlog = IngestBacklog()
        let delta = frame(isKeyFrame: false)
        #expect(backlog.admit([delta], pendingSize: 0).count == 1)
        let isFull = IngestBacklog.maximumPendingSize + 1
        #expect(backlog.admit([delta, frame(isKeyFrame: true, codec: .opus)], pendingSize: isFull).isEmpty)
        #expect(backlog.droppedCount == 2)
        let others = [frame(isKeyFrame: false, layer: 1), frame(isKeyFrame: true, codec: .opus)]
        #expect(backlog.admit([delta] + others, pendingSize: 0).count == 2)
        #expect(backlog.admit([frame(isKeyFrame: true), delta], pendingSize: 0).count == 2)
        #expect(backlog.droppedCount == 3)
    }
}

@Suite("Capabilities that a publisher requests")
struct RequestedCapabilityTests {
    @Test("a token's capabilities are kept, and others are added unless they need a token")
    func publishing() {
        let (effective, rejected) = StreamCapabilities.publishing(
            ["streaming"], requesting: ["streaming", "on-demand", "audio-only"])
        #expect(effective == ["streaming", "audio-only"])
        #expect(rejected == ["on-demand"])
    }
}
