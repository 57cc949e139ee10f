import PCastCore
import PCastEdgeAuth
import PCastSFU
import PCastSignaling
import PCastWebRTC
import Synchronization
import Testing

@testable import PCastPlatform

/// The effects of a token's capabilities on a stream, which are the same at every endpoint.
@Suite struct StreamCapabilitiesTests {
    private func terms(
        _ names: String..., for purpose: StreamCapabilities.Purpose = .publish, options: [String] = []
    ) throws -> PeerOptions {
        let capabilities = try StreamCapabilities(names, options: options, for: purpose)
        #expect(capabilities.ignored.isEmpty)
        return capabilities.terms
    }

    @Test("each capability has its effect") func meanings() throws {
        #expect(try terms() == PeerOptions())
        #expect(try terms("real-time", "multi-bitrate-contribution") == PeerOptions())
        #expect(try terms("audio-only").media == [.audio])
        #expect(try terms("video-only").media == [.video])
        #expect(try terms(options: ["no-audio", "rtt[http]=20"]).media == [.video])
        #expect(try terms(options: ["no-video"]).media == [.audio])
        #expect(try terms("playout-buffer").playout == .milliseconds(500))
        #expect(try terms("playout-buffer=PT0.3S").playout == .milliseconds(300))
        #expect(try terms("setup-deadline=PT5S").setupLimit == .seconds(5 as Int64))
        #expect(try terms("abandon-deadline=PT1M").abandonLimit == .seconds(60 as Int64))
        #expect(try terms("prefer-vp8", "prefer-h264").preferring == [.vp8, .h264])
        #expect(try terms("prefer-av1", "prefer-h265", "prefer-vp9").preferring == [.av1, .h265, .vp9])
        #expect(try terms("prefer-vp8").insistsOnCodecs == false)
        var token = EdgeToken(expires: WallTime(millisecondsSinceEpoch: 1))
        token.capabilities = ["publish-uri", "prefer-h265=force", "prefer-vp8"]
        let principal = Principal(application: ApplicationID("first"), token: token)
        let capabilities = principal.capabilities
        #expect(StreamCapabilities.prefers(.h265, in: capabilities))
        #expect(StreamCapabilities.prefers(.vp8, in: capabilities))
        #expect(!StreamCapabilities.prefers(.h264, in: capabilities))
        #expect(!StreamCapabilities.prefers(.h265, in: []))
        let forced = try terms("prefer-h264=force", "prefer-vp8", for: .view)
        #expect(forced.insistsOnCodecs && forced.preferring == [.h264])
    }

    @Test("streaming and streaming-lite package a stream, prefer H.264, and give viewers a playlist")
    func streaming() throws {
        #expect(StreamCapabilities.packagedLayers(["real-time", "streaming"]) == .all)
        #expect(StreamCapabilities.packagedLayers(["streaming-lite"]) == .highest)
        #expect(StreamCapabilities.packagedLayers(["real-time", "on-demand"]) == nil)
        #expect(try terms("streaming").preferring == [.h264])
        #expect(try terms("streaming-lite", "prefer-vp8").preferring == [.vp8])
        #expect(StreamCapabilities.requiresPlaylist(["streaming"]))
        #expect(StreamCapabilities.requiresPlaylist(["streaming-lite", "audio-only"]))
        #expect(!StreamCapabilities.requiresPlaylist(["streaming", "real-time"]))
        #expect(!StreamCapabilities.requiresPlaylist([]))
    }

    @Test(
        "capabilities without effect are reported",
        arguments: [
            "multi-bitrate=yes", "made-up", "prefer-vp7", "prefer-h264=please", "playout-buffer=soon", "setup-deadline",
            "setup-deadline=5s", "setup-deadline=PT0S", "abandon-deadline=", "playout-buffer=PT2M", "audio-only=yes",
            "streaming=yes", "on-demand=yes", "on-demand-lite=yes", "real-time=no", "geo-country-allow=US", "",
        ])
    func ignored(name: String) throws {
        let capabilities = try StreamCapabilities(["real-time", name], for: .publish)
        #expect(capabilities.ignored == [name])
        #expect(capabilities.terms == PeerOptions())
    }

    @Test("a viewer's time-shift has no effect, because every viewer of a stream that is packaged may seek")
    func timeShift() throws {
        #expect(try StreamCapabilities(["time-shift"], for: .view).ignored.isEmpty)
        #expect(try StreamCapabilities(["time-shift"], for: .publish).ignored == ["time-shift"])
        #expect(try StreamCapabilities(["time-shift=1"], for: .view).ignored == ["time-shift=1"])
    }

    @Test("renditions are requested by publishers only, and have no effect where none are made")
    func renditions() throws {
        var capabilities = try StreamCapabilities(["multi-bitrate"], for: .publish)
        #expect(capabilities.terms.hasRenditions && capabilities.ignored.isEmpty)
        capabilities.excludeRenditions()
        #expect(!capabilities.terms.hasRenditions && capabilities.ignored == ["multi-bitrate"])
        let viewing = try StreamCapabilities(["multi-bitrate"], for: .view)
        #expect(!viewing.terms.hasRenditions && viewing.ignored == ["multi-bitrate"])
        let requested = StreamCapabilities.publishing([], requesting: ["multi-bitrate", "audio-only"])
        #expect(requested.effective == ["audio-only"] && requested.rejected == ["multi-bitrate"])
    }

    @Test(
        "a stream that is recorded is packaged, so that H.264 is preferred", arguments: ["on-demand", "on-demand-lite"])
    func recorded(name: String) throws {
        let capabilities = try StreamCapabilities([name], for: .publish)
        #expect(capabilities.ignored.isEmpty && capabilities.terms.preferring == [.h264])
        #expect(StreamCapabilities.recordedLayers(["streaming", name]) == (name == "on-demand" ? .all : .highest))
        #expect(StreamCapabilities.recordedLayers(["streaming"]) == nil)
        let requested = StreamCapabilities.publishing([], requesting: [name])
        #expect(requested.effective == [] && requested.rejected == [name])
    }

    @Test("the list of ignored capabilities is short and valid in a header") func ignoredCapabilitiesHeader() throws {
        let names = (0..<100).map { "name\($0)" }
        #expect(try StreamCapabilities(names, for: .publish).reportedNames == Array(names.prefix(16)))
        let odd = try StreamCapabilities(
            ["a\r\nSet-Cookie: b", "é,\"", String(repeating: "x", count: 500)], for: .view)
        #expect(odd.reportedNames == ["a??Set-Cookie:?b", "???", String(repeating: "x", count: 64)])
    }

    @Test("unavailable and contradictory capabilities are rejected") func refused() {
        func kind(
            _ names: [String], _ purpose: StreamCapabilities.Purpose, options: [String] = []
        ) -> APIError.Kind? {
            do throws(APIError) {
                _ = try StreamCapabilities(names, options: options, for: purpose)
                return nil
            } catch {
                return error.kind
            }
        }
        // Viewers with these capabilities receive a playlist, which has no media connection.
        #expect(kind(["streaming"], .view) == .unsupported)
        #expect(kind(["streaming-lite"], .view) == .unsupported)
        #expect(kind(["on-demand"], .view) == .unsupported)
        #expect(kind(["streaming", "real-time"], .view) == nil)
        #expect(kind(["streaming"], .publish) == nil)
        #expect(kind(["audio-only", "video-only"], .publish) == .badRequest)
        #expect(kind(["audio-only"], .view, options: ["no-audio"]) == .badRequest)
    }

    // MARK: At the endpoints

    private func token(_ capabilities: [String], publishing: Bool) throws -> String {
        try Tokens.make { builder in
            capabilities.reduce(publishing ? builder.forPublishingOnly() : builder.forStreamingOnly()) {
                $0.withCapability($1)
            }
        }
    }

    /// Returns the protocol's answer to a publisher.
    private func options(of token: String, _ platform: TestPlatform) async throws -> [String] {
        let received = Mutex<[String]>([])
        try await ProtocolClient.run(platform) { client async throws in
            _ = try await client.authenticate(try Tokens.make())
            let answer = try await client.response(try Requests.publish(token))
            guard case .setupStream(let response)? = answer, response.status == "ok" else {
                Issue.record("the stream was not set up: \(String(describing: answer))")
                return
            }
            received.withLock { $0 = response.createStreamResponse.options }
        }
        return received.withLock { $0 }
    }

    @Test("WHIP, WHEP, the protocol and the log name capabilities without effect") func named() async throws {
        let record = LogRecord()
        try await TestPlatform.run(logger: record.logger) { platform in
            let names = ["made-up", "multi-bitrate", "real-time"]
            let publishing = try token(names, publishing: true)
            let whip = try await platform.post("/whip", try Offers.publisher(), token: publishing)
            #expect(whip.status == 201)
            #expect(whip.header("PCast-Ignored-Capabilities") == "made-up, multi-bitrate")
            #expect(whip.header("Access-Control-Expose-Headers")?.contains("PCast-Ignored-Capabilities") == true)
            let viewing = try token(["other"], publishing: false)
            let whep = try await platform.post("/whep", try Offers.viewer(), token: viewing)
            #expect(whep.header("PCast-Ignored-Capabilities") == "other")
            let plain = try await platform.post("/whep", try Offers.viewer(), token: try Tokens.viewing())
            #expect(plain.status == 201 && plain.header("PCast-Ignored-Capabilities") == nil)
            let options = try await options(of: publishing, platform)
            #expect(options == ["ignored-capability=made-up", "ignored-capability=multi-bitrate"])
            #expect(record.lines.contains { $0.hasPrefix("warning") && $0.contains("made-up multi-bitrate") })
        }
    }

    @Test("audio only, video only and streaming of a stream that is not packaged apply at each endpoint") func media()
        async throws
    {
        try await TestPlatform.run { platform in
            let audio = try token(["audio-only"], publishing: true)
            let whip = try await platform.post("/whip", try Offers.publisher(), token: audio)
            let published = try SessionDescription(parsing: whip.body)
            #expect(published.media.map { $0.direction == .inactive } == published.media.map { $0.kind == .video })
            #expect(published.media.allSatisfy { !$0.isRejected })
            let (stream, _) = try await platform.publish()
            let silent = try token(["video-only"], publishing: false)
            let whep = try await platform.post("/whep/\(stream)", try Offers.viewer(), token: silent)
            let viewed = try SessionDescription(parsing: whep.body)
            #expect(viewed.media.map { $0.direction == .inactive } == viewed.media.map { $0.kind == .audio })
            #expect(viewed.media.allSatisfy { !$0.isRejected })

            let streaming = try token(["streaming"], publishing: false)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: streaming).status == 422)
            let other = try token(["prefer-vp8=force"], publishing: false)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: other).status == 422)
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate(try Tokens.make())
                let request = try Requests.view(streaming, origin: stream)
                guard case .setupStream(let response)? = try await client.response(request) else {
                    Issue.record("the request has no response")
                    return
                }
                #expect(response.status == "streaming-not-available")
            }
        }
    }

    @Test("a publisher that is not connected by its deadline fails, at WHIP and in the protocol") func deadlines()
        async throws
    {
        try await TestPlatform.run { platform in
            let token = try token(["setup-deadline=PT1S"], publishing: true)
            // On a busy machine its time may be over before it is answered.
            let whip = try await platform.post("/whip", try Offers.publisher(), token: token)
            #expect([201, 404].contains(whip.status))
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate(try Tokens.make())
                guard case .setupStream(let response)? = try await client.response(try Requests.publish(token)) else {
                    Issue.record("SetupStream was not answered")
                    return
                }
                guard response.status == "ok" else { return #expect(response.status == "gone") }
                #expect(try await client.reason(response.createStreamResponse.streamID) == "failed")
            }
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }
}
