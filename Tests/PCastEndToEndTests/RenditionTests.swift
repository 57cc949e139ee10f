import Foundation
import PCast
import Testing

extension EndToEnd {
    /// Lower layers that the platform makes of an encoder's stream, only while a viewer needs them.
    @Suite("Renditions", .timeLimit(.minutes(5)))
    struct RenditionTests {
        /// The message of the platform when no viewer needs renditions any more.
        private static let end = "renditions are not needed any more"

        /// The number of frames from one key frame to the next one, in 16.7 s.
        private static let keyFrameDistance = 500

        /// The arguments with which FFmpeg publishes a film in real time.
        private static func publish(_ film: Film, bFrames: Int, to address: String) -> [String] {
            [
                "-v", "error", "-nostdin", "-progress", "pipe:1", "-re", "-stream_loop", "-1", "-i", film.file.path,
                "-c:v", "libx264",
                "-preset", "ultrafast", "-bf", "\(bFrames)", "-b_strategy", "0", "-g", "\(keyFrameDistance)",
                "-keyint_min", "\(keyFrameDistance)",
                "-sc_threshold", "0", "-b:v", "2500k", "-minrate", "2500k", "-maxrate", "2500k", "-bufsize", "2500k",
                "-x264-params", "nal-hrd=cbr", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ar", "44100", "-f", "flv",
                address,
            ]
        }

        /// Starts an encoder whose key has the capability for renditions. Returns its stream when it has sent four seconds,
        /// so that the next key frame is more than twelve seconds away.
        private static func publish(
            to platform: LocalPlatform, bFrames: Int, in workspace: TestWorkspace
        ) async throws -> (stream: String, encoder: RunningProgram) {
            let film = try await Film.make(seconds: 6, size: Dimensions(width: 1_280, height: 720), in: workspace)
            let listening = try await platform.program.event("listening")
            let port = Int(try #require(listening["rtmpPort"].number))
            let token = try await workspace.token(
                LocalPlatform.application, "--type", "publish", "--capability", "multi-bitrate")
            let encoder = try workspace.start(
                try #require(BuiltProgram.installed("ffmpeg")),
                publish(film, bFrames: bFrames, to: "rtmp://127.0.0.1:\(port)/ingest/\(token)"))
            let stream = try await platform.stream()
            let sent = await encoder.output.lines.first { frames($0) >= 120 }
            guard sent != nil else { throw EndToEndFailure("the encoder sends nothing\n\(encoder.report)") }
            return (stream, encoder)
        }

        /// The number of frames that FFmpeg has encoded, according to a line of its progress; 0 for another line.
        private static func frames(_ line: String) -> Int {
            line.hasPrefix("frame=") ? Int(line.dropFirst("frame=".count)) ?? 0 : 0
        }

        /// Whether an encoder has perhaps sent its second key frame. It reports its progress twice a second.
        private static func hasSecondKeyFrame(_ encoder: RunningProgram) async -> Bool {
            let lines = encoder.output.lines
            // The next report may have been written before this moment, and the one after it is later.
            for _ in 0..<2 { _ = await lines.first(after: lines.values.count) { frames($0) > 0 } }
            return (lines.values.map(frames).max() ?? 0) >= keyFrameDistance - 60
        }

        /// Waits for a line of the platform's log.
        private static func logs(_ text: String, _ platform: LocalPlatform) async throws {
            let line = await platform.program.messages.lines.first { $0.contains(text) }
            guard line != nil else { throw EndToEndFailure("no “\(text)” in the log\n\(platform.program.report)") }
        }

        @Test(
            "a viewer who joins between key frames, or a stream with B-frames, sees a rendition that ends when it is not needed",
            .enabled(if: ThisMachine.hasFFmpeg), arguments: [0, 2])
        func joins(bFrames: Int) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace, ["--rtmp-port", "0"])
                let (stream, encoder) = try await Self.publish(to: platform, bFrames: bFrames, in: workspace)
                let watched = try await WatchedStream.open(stream, of: platform)
                try await watched.height(720, since: 0)
                let ended = platform.program.messages.lines.values.contains { $0.contains(Self.end) }
                try await Self.logs("layers=transcoded", platform)
                if bFrames == 0 {
                    // On a busy machine the next key frame, which ends the need, may come before the first frame is shown.
                    if ended {
                        #expect(
                            await Self.hasSecondKeyFrame(encoder),
                            "the viewer has waited for the next key frame, which ends the need")
                    }
                    try await Self.logs(Self.end, platform)
                    #expect(watched.sizes.values.allSatisfy { $0.height == 720 })
                    await watched.close()
                } else {
                    await watched.close()
                    try await Self.logs(Self.end, platform)
                }
                try await platform.program.end()
            }
        }

        @Test(
            "viewers of H.265 receive it as it is, and a browser without it a rendition in H.264",
            .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasChromium))
        func otherCodec() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace, ["--renditions", "all"])
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", try await Film.makeH265(in: workspace), "--audio",
                    "synthetic", "--codec", "h265")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let own = try await WatchedStream.open(stream, of: platform)
                try await own.height(360, since: 0)
                #expect(!platform.program.messages.lines.values.contains { $0.contains("renditions are made") })
                let page = try Peer(
                    "watch_chromium.py", ["\(platform.uri)/watch/\(stream)"], in: nil, of: workspace, seconds: 2)
                let figures = try await page.figures()
                #expect(figures["videoCodec"].text == "video/H264")
                let first = figures["firstPictureMilliseconds"]
                print("the first frame of H.264: \(first) ms after the page was opened")
                try await Self.logs("layers=transcoded", platform)
                await own.close()
                try await Self.logs(Self.end, platform)
                try await publisher.end()
                try await platform.program.end()
            }
        }

        @Test(
            "only the viewer on a narrow link receives a lower layer, and returns to the encoder's layer when the link recovers",
            .enabled(if: ThisMachine.hasFFmpeg))
        func narrowLink() async throws {
            try await TestWorkspace.run { workspace in
                let network = try await ImpairedPlatform.start(
                    in: workspace, steps: ["rate=700k", "rate=20M"], ["--rtmp-port", "0"])
                let (stream, _) = try await Self.publish(to: network.platform, bFrames: 0, in: workspace)
                let wide = try await WatchedStream.open(stream, of: network.platform)
                try await wide.height(720, since: 0)
                let narrow = try await WatchedStream.open(
                    stream, of: LocalPlatform(network.platform.program, uri: network.badURI, in: workspace))
                try await narrow.height(720, since: 0)
                let count = narrow.sizes.values.count
                try await network.step()
                let lower = await narrow.sizes.first { $0.number >= count && $0.height < 720 }
                #expect(lower != nil, "\(narrow.sizes.values.map(\.height))\n\(network.platform.program.report)")
                let after = narrow.sizes.values.count
                try await network.step()
                try await narrow.height(720, since: after)
                #expect(wide.sizes.values.allSatisfy { $0.height == 720 })
                await narrow.close()
                await wide.close()
                try await network.platform.program.end()
            }
        }
    }
}
