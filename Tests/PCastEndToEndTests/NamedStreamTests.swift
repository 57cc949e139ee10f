import Foundation
import PCast
import Testing

extension EndToEnd {
    /// Declared streams, whose publishers change while viewers stay.
    @Suite("Named streams", .timeLimit(.minutes(5)))
    struct NamedStreamTests {
        private struct List: Decodable {
            struct Name: Decodable {
                let name: String
                let streamId: String?
                let state: String
            }
            let names: [Name]
        }

        /// Starts a platform with declared streams. Files are read in the folder of the test.
        static func start(
            in workspace: TestWorkspace, _ streams: String, _ options: [String] = []
        ) async throws -> LocalPlatform {
            let configuration = workspace.path("pcast.yaml")
            try "streams:\n\(streams)".write(toFile: configuration, atomically: true, encoding: .utf8)
            let folder = URL(fileURLWithPath: configuration).deletingLastPathComponent().path
            return try await LocalPlatform.start(
                in: workspace, ["--config", configuration, "--media-directory", folder] + options, limit: .longestSuite)
        }

        private static func name(_ name: String, of platform: LocalPlatform) async throws -> List.Name {
            let body = try await platform.workspace.run(
                "curl", ["-fsS", "--user", LocalPlatform.application, platform.uri + "/pcast/names"]
            ).output.joined()
            let names = try JSONDecoder().decode(List.self, from: Data(body.utf8)).names
            return try #require(names.first { $0.name == name })
        }

        /// Waits for the state of a name.
        static func waitFor(_ state: String, of name: String, _ platform: LocalPlatform) async throws {
            let end = ContinuousClock.now + .timeout
            while true {
                let current = try await Self.name(name, of: platform).state
                if current == state { return }
                guard ContinuousClock.now < end else {
                    throw EndToEndFailure(
                        "the state of \(name) is \(current), not \(state)\n\(platform.program.report)")
                }
                try await ContinuousClock().sleep(for: .milliseconds(50))
            }
        }

        /// Makes a short film of another size than that of the test film.
        private static func makeSlate(in workspace: TestWorkspace) async throws {
            try await workspace.run(
                "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-f", "lavfi",
                    "-i", "sine=frequency=220:sample_rate=48000", "-t", "2", "-c:v", "libx264", "-bf", "0", "-g", "30",
                    "-pix_fmt", "yuv420p", "-c:a", "aac", workspace.path("slate.mp4"),
                ])
        }

        @Test(
            "a source on demand starts with the first viewer, and closes after the last one",
            .enabled(if: ThisMachine.hasFFmpeg))
        func onDemand() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, rounds: 15, in: workspace)
                let platform = try await Self.start(
                    in: workspace,
                    """
                      lobby:
                        source: file://\(film.file.path)
                        onDemand: true
                        closeAfter: 1s
                    """)
                #expect(try await Self.name("lobby", of: platform).state == "idle")
                for _ in 0..<2 {
                    let watched = try await WatchedStream.open("lobby", of: platform)
                    try await watched.height(Film.size.height, since: 0)
                    let frame = workspace.path("picture.png")
                    _ = try await watched.renderer.screenshot(to: frame)
                    let found = try await film.find(MediaFile(path: frame, workspace: workspace))
                    #expect(found.difference < 6, "the viewer sees the film")
                    await watched.close()
                    try await Self.waitFor("idle", of: "lobby", platform)
                }
                try await platform.program.end()
            }
        }

        @Test(
            "sources on demand by HLS and WHEP of another platform begin with the first viewer, and close after it",
            .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasPython && BuiltProgram.installed("curl") != nil))
        func protocols() async throws {
            try await TestWorkspace.run { workspace in
                // An encoder with a key frame each second publishes to the other platform.
                let origin = try await LocalPlatform.start(in: workspace, ["--srt-port", "0"], limit: .longestSuite)
                let port = Int(try #require(try await origin.program.event("listening")["srtPort"].number))
                let key = try await workspace.token(
                    LocalPlatform.application, "--type", "publish", "--capability", "streaming")
                let encoder = try workspace.start(
                    "\(BuiltProgram.peers)/encode_strip.py",
                    [
                        "--size", "384x216", "--url",
                        "srt://127.0.0.1:\(port)?pkt_size=1316&connect_timeout=60000&streamid=\(key)",
                    ], limit: .longestSuite, hears: true)
                let stream = try await origin.stream()
                let token = try await origin.viewingToken(stream)
                let query = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                let playlist = "\(origin.uri)/video/\(stream)/index.m3u8?token=\(query)"
                try await workspace.run(
                    "curl",
                    ["-sSf", "--retry", "90", "--retry-delay", "1", "--retry-all-errors", "-o", "/dev/null", playlist])
                let platform = try await Self.start(
                    in: workspace,
                    """
                      hls:
                        source: '\(playlist)'
                        onDemand: true
                        closeAfter: 1s
                      whep:
                        source: 'whep\(origin.uri.dropFirst("http".count))/whep/\(stream)?token=\(query)'
                        onDemand: true
                        closeAfter: 1s

                    """, ["--media-allow", "127.0.0.1"])
                for name in ["hls", "whep"] {
                    #expect(try await Self.name(name, of: platform).state == "idle")
                    let joined = ContinuousClock.now
                    let watched = try await WatchedStream.open(name, of: platform)
                    try #require(await watched.renderer.firstFrame != nil, "\(name) ended")
                    let time = joined.duration(to: .now)
                    print("the first frame of a source by \(name) on demand: \(time) after the join")
                    // Only the full run, for which the machine is idle, measures the stated time.
                    #expect(!ThisMachine.isFull || time <= .seconds(1), "\(name): \(time)")
                    try await watched.height(216, since: 0)
                    await watched.close()
                    try await Self.waitFor("idle", of: name, platform)
                }
                try encoder.notify("end")
                _ = try await encoder.event("ended")
                try await platform.program.end()
                try await origin.program.end()
            }
        }

        @Test(
            "a viewer keeps its session while RTMP, the fallback and WHIP follow each other",
            .enabled(if: ThisMachine.hasFFmpeg))
        func publishers() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, in: workspace)
                try await Self.makeSlate(in: workspace)
                let platform = try await Self.start(
                    in: workspace, "  show:\n    fallback: slate.mp4\n", ["--rtmp-port", "0"])
                let listening = try await platform.program.event("listening")
                let port = Int(try #require(listening["rtmpPort"].number))
                func encode() async throws -> RunningProgram {
                    let token = try await workspace.token(
                        LocalPlatform.application, "--type", "publish", "--apply-tag", "name:show")
                    return try workspace.start(
                        try #require(BuiltProgram.installed("ffmpeg")),
                        [
                            "-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", film.file.path, "-c:v",
                            "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0", "-g", "30",
                            "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "flv",
                            "rtmp://127.0.0.1:\(port)/ingest/\(token)",
                        ])
                }
                let encoder = try await encode()
                try await Self.waitFor("live", of: "show", platform)
                let stream = try await Self.name("show", of: platform).streamId
                let watched = try await WatchedStream.open("show", of: platform)
                try await watched.height(Film.size.height, since: 0)

                // The encoder is unplugged, and the fallback plays, longer than it lasts.
                encoder.send(SIGKILL)
                try await watched.height(180, since: 1)
                let slates = watched.sizes.values.count

                // The publisher returns over another protocol, and with another size.
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--tag", "name:show", "--video", "synthetic", "--audio",
                    "synthetic", "--size", "640x480")
                try await watched.height(480, since: slates)
                let publishings = watched.sizes.values.count

                // RTMP again, which replaces the former publisher.
                let second = try await encode()
                try await watched.height(Film.size.height, since: publishings)
                #expect(try await Self.name("show", of: platform).streamId == stream, "it is one stream")
                publisher.send(SIGINT)
                second.send(SIGKILL)
                await watched.close()
                try await platform.program.end()
            }
        }

        /// Publishes a test film as H.264 by RTMP.
        private static func encode(
            _ size: String, to name: String, port: Int, in workspace: TestWorkspace
        ) async throws -> RunningProgram {
            let token = try await workspace.token(
                LocalPlatform.application, "--type", "publish", "--apply-tag", "name:\(name)")
            return try workspace.start(
                try #require(BuiltProgram.installed("ffmpeg")),
                [
                    "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-re", "-f",
                    "lavfi", "-i", "sine=frequency=220:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast",
                    "-tune", "zerolatency", "-bf", "0", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "flv",
                    "rtmp://127.0.0.1:\(port)/ingest/\(token)",
                ])
        }

        /// Returns the mean brightness of the first frame of a file or playlist; nil if it cannot be read yet.
        private static func brightness(of path: String, in workspace: TestWorkspace) async throws -> Double? {
            let raw = workspace.path("brightness.raw")
            let run = try? await workspace.run(
                "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-y", "-i", path, "-an", "-frames:v", "1", "-vf",
                    "scale=64:36:flags=area", "-f", "rawvideo", "-pix_fmt", "gray", raw,
                ])
            guard run != nil else { return nil }
            let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: raw)))
            guard !bytes.isEmpty else { return nil }
            return Double(bytes.reduce(0) { $0 + Int($1) }) / Double(bytes.count)
        }

        /// Waits until a frame is much darker than a bright one.
        private static func isDimmed(
            below bright: Double, _ brightness: () async throws -> Double?
        ) async throws -> Bool {
            let end = ContinuousClock.now + .timeout
            while ContinuousClock.now < end {
                if let current = try await brightness(), current < bright * 0.75 { return true }
                try await ContinuousClock().sleep(for: .milliseconds(50))
            }
            return false
        }

        @Test(
            "viewers by WebRTC and HLS see the last frame, dimmed, while a name has no publisher",
            .enabled(if: ThisMachine.hasFFmpeg))
        func slate() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await Self.start(
                    in: workspace, "  show:\n    slate: Back soon\n    capabilities: streaming\n",
                    ["--rtmp-port", "0"])
                let listening = try await platform.program.event("listening")
                let port = Int(try #require(listening["rtmpPort"].number))
                let first = try await Self.encode("640x360", to: "show", port: port, in: workspace)
                try await Self.waitFor("live", of: "show", platform)
                let stream = try await Self.name("show", of: platform).streamId
                let watched = try await WatchedStream.open("show", of: platform)
                try await watched.height(360, since: 0)
                let picture = workspace.path("picture.png")
                _ = try await watched.renderer.screenshot(to: picture)
                let bright = try #require(try await Self.brightness(of: picture, in: workspace))

                first.send(SIGKILL)
                try await Self.waitFor("fallback", of: "show", platform)
                #expect(
                    try await Self.isDimmed(below: bright) {
                        _ = try await watched.renderer.screenshot(to: picture)
                        return try await Self.brightness(of: picture, in: workspace)
                    }, "the viewer by WebRTC sees the slate")
                let token = try await platform.viewingToken("show")
                let query = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                let playlist = "\(platform.uri)/video/show/index.m3u8?token=\(query)"
                #expect(
                    try await Self.isDimmed(below: bright) {
                        try await Self.brightness(of: playlist, in: workspace)
                    }, "a viewer by HLS sees the slate")

                // The publisher returns, and viewers see its video.
                let second = try await Self.encode("320x180", to: "show", port: port, in: workspace)
                try await watched.height(180, since: 1)
                try await Self.waitFor("live", of: "show", platform)
                #expect(try await Self.name("show", of: platform).streamId == stream, "it is one stream")
                second.send(SIGKILL)
                await watched.close()
                try await platform.program.end()
            }
        }

        /// An expression that is true when the watch page shows frames of a height, and reports a codec.
        private static func shows(_ codec: String, _ height: Int) -> String {
            """
            document.getElementById("video").videoHeight === \(height) &&
              document.getElementById("codec").textContent === "\(codec)"
            """
        }

        /// An expression for the number of WHEP sessions that the page has created.
        private static let joins = """
            performance.getEntriesByType("resource").filter(({ name }) => new URL(name).pathname.startsWith("/whep")).length
            """

        @Test(
            "viewers in Chromium and of the SDK keep their session while RTMP with H.264 and WHIP with VP8 follow each other",
            .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasChromium))
        func codecs() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await Self.start(in: workspace, "  show: {}\n", ["--rtmp-port", "0"])
                let listening = try await platform.program.event("listening")
                let port = Int(try #require(listening["rtmpPort"].number))
                let first = try await Self.encode("640x360", to: "show", port: port, in: workspace)
                try await Self.waitFor("live", of: "show", platform)
                let stream = try await Self.name("show", of: platform).streamId
                let watched = try await WatchedStream.open("show", of: platform)
                try await watched.height(360, since: 0)
                let browser = try await Browser.start(in: workspace)
                try await browser.open(platform.uri + "/watch/show")
                try await browser.wait(for: Self.shows("H264", 360))
                let joins = try await browser.evaluate(Self.joins).number

                // The encoder is unplugged, and the next publisher has another codec.
                first.send(SIGKILL)
                let publisher = try workspace.pcast(
                    "publish", "--uri", "whip" + platform.uri.dropFirst("http".count) + "/whip/show", "--video",
                    "synthetic", "--audio", "synthetic", "--size", "640x480", "--codec", "vp8")
                try await watched.height(480, since: 1)
                try await browser.wait(for: Self.shows("VP8", 480))

                // H.264 again, which replaces the former publisher.
                let second = try await Self.encode("320x180", to: "show", port: port, in: workspace)
                try await watched.height(180, since: 2)
                try await browser.wait(for: Self.shows("H264", 180))
                let frames = try await browser.evaluate(
                    "document.getElementById('video').getVideoPlaybackQuality().totalVideoFrames"
                ).number
                try await browser.wait(
                    for: """
                        document.getElementById("video").getVideoPlaybackQuality().totalVideoFrames > \(try #require(frames) + 30)
                        """)
                #expect(try await browser.evaluate(Self.joins).number == joins, "it is one session")
                #expect(try await Self.name("show", of: platform).streamId == stream, "it is one stream")
                publisher.send(SIGINT)
                second.send(SIGKILL)
                try await browser.end()
                await watched.close()
                try await platform.program.end()
            }
        }

        /// Declares a stream.
        static func declare(_ name: String, _ body: String, _ platform: LocalPlatform) async throws {
            try await platform.workspace.run(
                "curl",
                [
                    "-fsS", "--user", LocalPlatform.application, "-X", "PUT", "-H", "Content-Type: application/json",
                    "-d", body, platform.uri + "/pcast/name/\(name)",
                ])
        }

        @Test("a stream is published by WHIP, pushed by WHIP, pulled by WHEP and watched by WHEP, as between servers")
        func servers() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await Self.start(in: workspace, "  pushed: {}\n", ["--media-allow", "127.0.0.1"])
                let address = platform.uri.dropFirst("http".count)
                try await Self.declare("near", #"{"forward":["whip\#(address)/whip/pushed"]}"#, platform)
                try await Self.declare("far", #"{"source":"whep\#(address)/whep/pushed","onDemand":true}"#, platform)
                let publisher = try workspace.pcast(
                    "publish", "--uri", "whip\(address)/whip/near", "--video", "synthetic", "--audio", "synthetic",
                    "--size", "640x360")
                _ = try await publisher.event("publishing")
                try await Self.waitFor("live", of: "near", platform)
                try await Self.waitFor("live", of: "pushed", platform)
                #expect(try await Self.name("far", of: platform).state == "idle")
                let viewer = try workspace.pcast("subscribe", "--uri", "whep\(address)/whep/far")
                _ = try await viewer.event("firstFrame")
                _ = try await viewer.event("dimensions") { $0["height"].number == 360 }
                try await Self.waitFor("live", of: "far", platform)
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                try await platform.program.end()
            }
        }
    }
}
