import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    /// Encoders that publish H.265, AV1 and VP9.
    @Suite("Codecs of encoders", .timeLimit(.minutes(10)))
    struct EncoderCodecTests {
        /// A codec that FFmpeg publishes, with the audio beside it.
        struct Example: CustomTestStringConvertible, Sendable {
            let testDescription: String
            /// The options with which FFmpeg encodes 30 frames from one key frame to the next one.
            let video: [String]
            let audio: [String]
            /// The codec that Chromium receives.
            let received: String

            private static let opus = ["-c:a", "libopus", "-ar", "48000"]
            private static let aac = ["-c:a", "aac", "-ar", "44100"]

            /// The parameter sets are in the header only.
            static let h265 = Example(
                testDescription: "H.265",
                video: [
                    "-c:v", "libx265", "-preset", "ultrafast", "-b:v", "2M", "-x265-params",
                    "bframes=0:keyint=30:min-keyint=30:scenecut=0:open-gop=0:log-level=none",
                ], audio: opus, received: "video/H264")
            static let av1 = Example(
                testDescription: "AV1",
                video: [
                    "-c:v", "libsvtav1", "-preset", "12", "-crf", "32", "-svtav1-params",
                    "keyint=30:pred-struct=1:lookahead=0:scd=0",
                ], audio: opus, received: "video/AV1")
            static let vp9 = Example(
                testDescription: "VP9",
                video: [
                    "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-row-mt", "1", "-lag-in-frames",
                    "0", "-auto-alt-ref", "0", "-g", "30", "-b:v", "2M",
                ], audio: aac, received: "video/VP9")
            static let all = [h265, av1, vp9]

            /// Encodes a film, once before it is published, because that needs much of the processors' time.
            func encode(_ film: Film, with program: String, in workspace: TestWorkspace) async throws -> String {
                let path = workspace.path("encoded.mkv")
                try await workspace.run(
                    program,
                    ["-v", "error", "-nostdin", "-i", film.file.path] + video + ["-pix_fmt", "yuv420p"] + audio + [path]
                )
                return path
            }
        }

        /// The arguments with which FFmpeg publishes a file in real time, again and again.
        private static func publish(_ file: String, _ options: [String], to address: String) -> [String] {
            ["-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", file, "-map", "0", "-c", "copy"] + options
                + [address]
        }

        /// The options with which FFmpeg publishes the codecs of Enhanced RTMP.
        private static let enhanced = ["-rtmp_enhanced_codecs", "hvc1,av01,vp09", "-f", "flv"]

        private static func port(_ name: String, of platform: LocalPlatform) async throws -> Int {
            Int(try #require(try await platform.program.event("listening")[name].number))
        }

        /// Checks that a viewer of the SDK and `pcast subscribe` show the film.
        private static func check(_ film: Film, _ stream: String, of platform: LocalPlatform) async throws {
            let workspace = platform.workspace
            let watched = try await WatchedStream.open(stream, of: platform)
            try await watched.height(Film.size.height, since: 0)
            let frame = workspace.path("frame.png")
            _ = try await watched.renderer.screenshot(to: frame)
            let found = try await film.find(MediaFile(path: frame, workspace: workspace))
            #expect(
                found.difference < 10, "the viewer sees the film, which usually differs by \(found.usualDifference)")
            await watched.close()

            let viewer = try workspace.pcast(
                "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                try await platform.viewingToken(stream), "--render", "null")
            _ = try await viewer.event("firstFrame")
            #expect(try await viewer.event("dimensions")["height"].number == Double(Film.size.height))
            _ = try await viewer.event("stats") { $0["framesRendered"].number ?? 0 >= 60 }
            viewer.send(SIGINT)
            try await viewer.expectExitStatus(0)
        }

        @Test(
            "FFmpeg publishes a codec of Enhanced RTMP, our viewers see the film, and Chromium plays it or a rendition",
            .enabled(if: ThisMachine.enhancedFFmpeg != nil && ThisMachine.hasFFmpeg && ThisMachine.hasChromium),
            arguments: Example.all)
        func rtmp(example: Example) async throws {
            try await TestWorkspace.run { workspace in
                let program = try #require(ThisMachine.enhancedFFmpeg)
                let film = try await Film.make(seconds: 6, in: workspace)
                let file = try await example.encode(film, with: program, in: workspace)
                let platform = try await LocalPlatform.start(
                    in: workspace, ["--rtmp-port", "0", "--renditions", "all"], limit: .longestSuite)
                let port = try await Self.port("rtmpPort", of: platform)
                let token = try await platform.publishingToken()
                let encoder = try workspace.start(
                    program, Self.publish(file, Self.enhanced, to: "rtmp://127.0.0.1:\(port)/ingest/\(token)"),
                    limit: .longestSuite)
                let stream = try await platform.stream()
                try await Self.check(film, stream, of: platform)
                let page = try Peer(
                    "watch_chromium.py", ["\(platform.uri)/watch/\(stream)"], in: nil, of: workspace, seconds: 2)
                #expect(try await page.figures()["videoCodec"].text == example.received)

                // The encoder ends its stream by a command.
                let watched = try await WatchedStream.open(stream, of: platform)
                encoder.send(SIGINT)
                #expect(await watched.stream.ended.reason == .ended)
                await watched.close()
                try await platform.program.end()
                #expect(!platform.program.report.contains(token), "no key is logged")
            }
        }

        @Test(
            "FFmpeg publishes H.265 and AAC by SRT, and our viewers see the film", .enabled(if: ThisMachine.hasFFmpeg))
        func srt() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, in: workspace)
                let file = workspace.path("encoded.mkv")
                try await workspace.run(
                    "ffmpeg",
                    ["-v", "error", "-nostdin", "-i", film.file.path] + Example.h265.video + [
                        "-pix_fmt", "yuv420p", "-c:a", "copy", file,
                    ])
                let platform = try await LocalPlatform.start(in: workspace, ["--srt-port", "0"])
                let port = try await Self.port("srtPort", of: platform)
                // The default of 3 s for the handshake is too short for a busy machine.
                let address = "srt://127.0.0.1:\(port)?pkt_size=1316&connect_timeout=60000&streamid="
                let token = try await platform.publishingToken()
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    Self.publish(file, ["-f", "mpegts"], to: address + token))
                try await Self.check(film, try await platform.stream(), of: platform)
                try await encoder.end()
                try await platform.program.end()
            }
        }

        @Test(
            "H.265 of a declared source in MPEG-TS is forwarded as it is, if the declaration prefers it",
            .enabled(if: ThisMachine.hasFFmpeg && BuiltProgram.installed("curl") != nil))
        func declared() async throws {
            try await TestWorkspace.run { workspace in
                _ = try await Film.makeH265(in: workspace)
                // The file is so long that it does not end during the test.
                try await workspace.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-stream_loop", "60", "-i", workspace.path("camera.ts"), "-c",
                        "copy",
                        workspace.path("source.ts"),
                    ])
                let configuration = workspace.path("pcast.yaml")
                let streams = """
                    streams:
                      camera:
                        source: file://\(workspace.path("source.ts"))
                        onDemand: true
                        capabilities: prefer-h265
                    """
                try streams.write(toFile: configuration, atomically: true, encoding: .utf8)
                let folder = URL(fileURLWithPath: configuration).deletingLastPathComponent().path
                let platform = try await LocalPlatform.start(
                    in: workspace, ["--config", configuration, "--media-directory", folder])
                let viewer = try await WatchedStream.open("camera", of: platform)
                try await viewer.height(360, since: 0)
                let list = try await workspace.run(
                    "curl", ["-fsS", "--user", LocalPlatform.application, platform.uri + "/pcast/streams"]
                ).output.joined()
                // The source is a stream that viewers do not find without its name.
                #expect(list.contains(#""codecs":["H265"]"#), "\(list)")
                await viewer.close()
                try await platform.program.end()
            }
        }

        @Test(
            "FFmpeg publishes two tracks of H.265 as layers, and a viewer receives the one that its limit allows",
            .enabled(if: ThisMachine.enhancedFFmpeg != nil && ThisMachine.hasFFmpeg))
        func layers() async throws {
            try await TestWorkspace.run { workspace in
                let program = try #require(ThisMachine.enhancedFFmpeg)
                let film = try await Film.make(seconds: 6, in: workspace)
                let file = workspace.path("encoded.mkv")
                try await workspace.run(
                    program,
                    [
                        "-v", "error", "-nostdin", "-i", film.file.path, "-filter_complex",
                        "[0:v]split[large][half];[half]scale=320:180[small]", "-map", "[large]", "-map", "[small]",
                        "-map",
                        "0:a",
                    ] + Example.h265.video + ["-b:v:1", "150k", "-pix_fmt", "yuv420p"] + Example.h265.audio + [file])
                let platform = try await LocalPlatform.start(in: workspace, ["--rtmp-port", "0"])
                let port = try await Self.port("rtmpPort", of: platform)
                let token = try await platform.publishingToken()
                let encoder = try workspace.start(
                    program, Self.publish(file, Self.enhanced, to: "rtmp://127.0.0.1:\(port)/ingest/\(token)"))
                let viewer = try await WatchedStream.open(try await platform.stream(), of: platform)
                try await viewer.height(360, since: 0)
                let track = try #require(viewer.stream.videoTracks.first)
                var count = viewer.sizes.values.count
                var limit: BandwidthLimit? = track.limitBandwidth(.kilobits(400))
                try await viewer.height(180, since: count)
                count = viewer.sizes.values.count
                #expect(limit?.bitrate == .kilobits(400))
                limit = nil
                try await viewer.height(360, since: count)
                await viewer.close()
                try await encoder.end()
                try await platform.program.end()
            }
        }
    }
}
