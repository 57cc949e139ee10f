import Foundation
import Testing

extension EndToEnd {
    /// A live stream by HLS: the rules for servers, and players.
    @Suite("HLS", .timeLimit(.minutes(10)))
    struct HLSTests {
        /// The duration of playback in seconds.
        private static let watching = ThisMachine.isFull ? 300 : 20

        /// A platform with a publisher of the test pattern, which is packaged.
        struct Live {
            let platform: LocalPlatform
            let publisher: RunningProgram
            let stream: String

            /// The address of the multivariant playlist with a token.
            let playlist: String

            /// Starts both. `captions` is a file that the publisher sends; nil for none.
            static func start(in workspace: TestWorkspace, captions: String? = nil) async throws -> Live {
                let platform = try await LocalPlatform.start(in: workspace)
                let publishing = try await workspace.token(
                    LocalPlatform.application, "--type", "publish", "--capability", "streaming")
                let publisher = try workspace.start(
                    BuiltProgram.path("pcast"),
                    [
                        "publish", "--uri", platform.uri, "--token", publishing, "--video", "synthetic", "--audio",
                        "synthetic", "--size", "1280x720", "--json",
                    ] + (captions.map { ["--captions", $0] } ?? []))
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let token = try await platform.viewingToken(stream)
                // A token is base64 with characters that have a meaning in a query.
                let query = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                return Live(
                    platform: platform, publisher: publisher, stream: stream,
                    playlist: "\(platform.uri)/video/\(stream)/index.m3u8?token=\(query)")
            }

            func end() async throws {
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }

        @Test("the playlists of a live stream violate no rule of RFC 8216bis and of Apple, also when it ends")
        func rules() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let observer = try workspace.start(
                    BuiltProgram.path("pcast-bench"),
                    ["hls-rules", live.playlist, "--seconds", "\(Self.watching * 2)", "--json"], limit: .longestRun)
                // The stream ends while it is observed. There is an event each second.
                let publisher = live.publisher
                _ = try await publisher.event("stats") { _ in publisher.events("stats").count >= Self.watching }
                publisher.send(SIGINT)
                let status = try await observer.exitStatus(within: .longestRun)
                #expect(observer.events("violation").map { $0["rule"].text } == [])
                #expect(observer.events("result").first?["versions"].number ?? 0 > Double(Self.watching))
                #expect(status == 0)
                try await live.platform.program.end()
            }
        }

        @Test("this project's player plays the stream by HLS without a failure")
        func player() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let player = try workspace.pcast("play", live.playlist, "--render", "null")
                _ = try await player.event("ready")
                let size = try await player.event("dimensions")
                #expect(size["width"].number == 1280)
                // The stream ends, and the playlist with it.
                _ = try await player.event("position") { _ in player.events("position").count > 3 }
                live.publisher.send(SIGINT)
                #expect(try await player.exitStatus() == 0)
                try await live.platform.program.end()
            }
        }

        @Test("the thumbnail of the stream is a JPEG image of its last key frame, which a separate process decodes")
        func thumbnail() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let player = try workspace.pcast("play", live.playlist, "--render", "null")
                _ = try await player.event("dimensions")
                let file = workspace.path("thumbnail.jpg")
                try await workspace.run(
                    "curl",
                    [
                        "-sSf", "-o", file,
                        live.playlist.replacingOccurrences(of: "index.m3u8", with: "thumbnail.jpg"),
                    ])
                let image = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
                #expect(image.starts(with: [0xFF, 0xD8, 0xFF]) && image.suffix(2) == [0xFF, 0xD9])
                // The frame header has the precision, the height and the width (ITU-T T.81, section B.2.2).
                let frame = try #require(image.indices.dropLast(8).first { image[$0...].starts(with: [0xFF, 0xC0]) })
                let number = { (index: Int) in Int(image[index]) << 8 | Int(image[index + 1]) }
                #expect((number(frame + 5), number(frame + 7)) == (360, 640))
                player.send(SIGINT)
                try await live.end()
            }
        }

        @Test("FFmpeg reads the stream without an error", .enabled(if: ThisMachine.hasFFmpeg))
        func ffmpeg() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let program = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    [
                        "-v", "error", "-nostdin", "-xerror", "-i", live.playlist, "-t", "\(Self.watching)", "-f",
                        "null",
                        "-",
                    ], limit: .longestRun)
                #expect(try await program.exitStatus(within: .longestRun) == 0)
                try await live.end()
            }
        }

        /// A player of another project, and its arguments for an address and a number of seconds.
        struct OtherPlayer: Sendable, CustomTestStringConvertible {
            let program: String
            let arguments: @Sendable (_ uri: String, _ seconds: Int) -> [String]

            var testDescription: String { program }
        }

        /// The players that are installed.
        static let players = [
            OtherPlayer(program: "gst-launch-1.0") { uri, seconds in
                // GStreamer selects hlsdemux2 by its rank. The frames of the test pattern come 30 times per second.
                [
                    "playbin3", "uri=\(uri)", "flags=video",
                    "video-sink=fakesink sync=true num-buffers=\(30 * seconds)",
                ]
            },
            OtherPlayer(program: "mpv") { uri, seconds in
                ["--no-config", "--vo=null", "--ao=null", "--length=\(seconds)", uri]
            },
        ].filter { BuiltProgram.installed($0.program) != nil }

        @Test(
            "players of other projects play the stream", .enabled(if: !HLSTests.players.isEmpty),
            arguments: HLSTests.players)
        func others(player: OtherPlayer) async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let program = try workspace.start(
                    try #require(BuiltProgram.installed(player.program)),
                    player.arguments(live.playlist, Self.watching), limit: .longestRun)
                #expect(try await program.exitStatus(within: .longestRun) == 0)
                try await live.end()
            }
        }

        @Test(
            "hls.js plays the stream with low latency, without a stall and an error",
            .enabled(if: ThisMachine.hasChromium && ThisMachine.hlsJS != nil))
        func hlsJS() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let peer = try Peer(
                    "play_hlsjs.py", ["--url", live.playlist, "--script", try #require(ThisMachine.hlsJS)], in: nil,
                    of: workspace, seconds: Self.watching)
                let figures = try await peer.figures()
                let latency = try #require(figures["latency"].number)
                print("\(figures["peer"].text ?? ""): \(latency) s behind the live edge")
                #expect(latency <= (ThisMachine.isFull ? 1.2 : 3))
                try await live.end()
            }
        }

        @Test(
            "the watch page plays the stream by HLS without a stall",
            .enabled(if: !ThisMachine.browsers.isEmpty), arguments: ThisMachine.browsers)
        func page(browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace)
                let peer = try Peer(
                    "watch_hls.py",
                    [
                        "--url", "\(live.platform.uri)/watch/\(live.stream)", "--browser", browser, "--token",
                        try await live.platform.viewingToken(live.stream),
                    ], in: nil, of: workspace, seconds: Self.watching)
                let figures = try await peer.figures()
                print("\(figures["peer"].text ?? ""): \(figures["method"].text ?? ""), \(figures["played"]) s")
                #expect(figures["size"].list.compactMap(\.number) == [1280, 720])
                try await live.end()
            }
        }
    }
}
