import Foundation
import Testing

extension EndToEnd {
    /// A live stream by HLS in this project's player, and its thumbnails.
    @Suite("HLS", .timeLimit(.minutes(10)))
    struct HLSTests {
        /// A platform with a publisher of the test pattern, which is packaged.
        struct Live {
            let platform: LocalPlatform
            private(set) var publisher: RunningProgram
            let stream: String

            /// The address of the multivariant playlist with a token.
            let playlist: String

            /// The arguments of the publisher without the size of the video.
            private let publishing: [String]

            /// Starts a platform with additional options, and a publisher. `captions` is a file that the publisher sends; nil
            /// for none.
            static func start(
                in workspace: TestWorkspace, _ options: [String] = [], size: String = "640x360",
                captions: String? = nil, tag: String = "hls"
            ) async throws -> Live {
                try await start(
                    at: LocalPlatform.start(in: workspace, options, limit: .longestSuite), size: size,
                    captions: captions, tag: tag)
            }

            /// Starts a publisher at a platform, with a number of layers and a tag of its token.
            static func start(
                at platform: LocalPlatform, size: String, layers: Int = 1, captions: String? = nil, tag: String = "hls"
            ) async throws -> Live {
                let workspace = platform.workspace
                let publishing = [
                    "publish", "--uri", platform.uri, "--token",
                    try await workspace.token(
                        LocalPlatform.application, "--type", "publish", "--capability", "streaming", "--apply-tag",
                        tag),
                    "--video", "synthetic", "--audio", "synthetic", "--layers", "\(layers)", "--resume", "--json",
                ]
                let publisher = try workspace.start(
                    BuiltProgram.path("pcast"),
                    publishing + ["--size", size] + (captions.map { ["--captions", $0] } ?? []), limit: .longestSuite)
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let token = try await platform.viewingToken(stream)
                // A token is base64 with characters that have a meaning in a query.
                let query = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                return Live(
                    platform: platform, publisher: publisher, stream: stream,
                    playlist: "\(platform.uri)/video/\(stream)/index.m3u8?token=\(query)", publishing: publishing)
            }

            /// Kills the publisher, and starts one that resumes its stream with another size of the video.
            mutating func reconnect(size: String) async throws {
                publisher.send(SIGKILL)
                try await publisher.exitStatus()
                publisher = try platform.workspace.start(
                    BuiltProgram.path("pcast"), publishing + ["--size", size], limit: .longestSuite)
                #expect(try await publisher.event("publishing")["streamId"].text == stream)
            }

            /// Waits until the stream has a multivariant playlist.
            func awaitPlaylist() async throws {
                try await platform.workspace.run(
                    "curl",
                    ["-sSf", "--retry", "90", "--retry-delay", "1", "--retry-all-errors", "-o", "/dev/null", playlist])
            }

            func end() async throws {
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }

        @Test("this project's player plays the stream by HLS without a failure")
        func player() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace, size: "1280x720")
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

        @Test("players with one playout delay that begin at different times show the same frame at the same time")
        func synchronizedPlayout() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace, size: "480x270")
                try await live.awaitPlaylist()
                // Playback would be about a second after capture without the option.
                let delay = 4_000.0
                @Sendable func isSynchronized(_ player: RunningProgram) -> Bool {
                    let latencies = player.events("position").suffix(3).compactMap { $0["latency"].number }
                    return latencies.count == 3 && latencies.allSatisfy { abs($0 - delay) <= 50 }
                }
                func start() throws -> RunningProgram {
                    try workspace.pcast(
                        "play", live.playlist, "--render", "null", "--playout-delay", "4s", limit: .longestSuite)
                }
                let first = try start()
                _ = try await first.event("position", within: .seconds(200)) { _ in isSynchronized(first) }
                let second = try start()
                // Each position has the capture time of its frame, and the time since then.
                _ = try await second.event("position", within: .seconds(200)) { _ in
                    isSynchronized(first) && isSynchronized(second)
                }
                live.publisher.send(SIGINT)
                for player in [first, second] { try await player.expectExitStatus(0) }
                try await live.platform.program.end()
            }
        }

        @Test(
            "the watch page and a viewer of the module that begins later show the same frame at the same time",
            .enabled(if: ThisMachine.hasChromium))
        func synchronizedPages() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace, size: "480x270")
                try await live.awaitPlaylist()
                let peer = try Peer(
                    "watch_synchronized.py",
                    [
                        "--url", "\(live.platform.uri)/watch/\(live.stream)", "--token",
                        try await live.platform.viewingToken(live.stream),
                    ], in: nil, of: workspace, seconds: 120)
                let figures = try await peer.figures()
                print("pages with a playout delay of 3 s: \(figures["difference"]) ms apart")
                try await live.end()
            }
        }

        @Test("events of the game that the stream shows are date ranges, in the order of their gates and by the rules")
        func timeline() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace, tag: "timeline:NHL/2354717")
                try await live.awaitPlaylist()
                let observer = try workspace.start(
                    BuiltProgram.path("pcast-bench"), ["hls-rules", live.playlist, "--seconds", "600", "--json"],
                    limit: .longestSuite)
                let player = try workspace.pcast("play", live.playlist, "--render", "null")
                _ = try await player.event("dimensions")
                func timeline(_ arguments: String...) async throws {
                    try await workspace.run(
                        BuiltProgram.path("pcast"),
                        [
                            "timeline", "add", "NHL", "2354717", "--uri", live.platform.uri, "--application",
                            LocalPlatform.application,
                        ] + arguments)
                }
                try await timeline("--id", "goal", "--type", "goal", "--team", "home")
                try await timeline("--id", "goal", "--update", "--description", "A. Scorer, \"1:0\"")
                try await timeline("--id", "goal", "--delete")
                let name = "pcast.timeline"
                _ = try await player.event("metadata") { _ in
                    player.events("metadata").count { $0["name"].text == name } >= 3
                }
                let values = player.events("metadata").filter { $0["name"].text == name }.map { $0["value"].text ?? "" }
                #expect(values.allSatisfy { $0.contains("X-PCAST-EVENT-ID=goal") })
                for (value, change) in zip(values, ["added", "modified", "deleted"]) {
                    #expect(value.contains("X-PCAST-CHANGE=\(change)"), "\(value)")
                }
                #expect(values[0].contains("X-PCAST-TEAM=home,X-PCAST-TYPE=goal"))
                #expect(values[1].contains("X-PCAST-DESCRIPTION=A. Scorer, '1:0'"))
                // The stream ends, and the playlists with it.
                live.publisher.send(SIGINT)
                #expect(try await player.exitStatus() == 0)
                try await observer.expectRules()
                try await live.platform.program.end()
            }
        }

        @Test("the thumbnail of the stream is a JPEG image of its last key frame, which a separate process decodes")
        func thumbnail() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await Live.start(in: workspace, size: "1280x720")
                let player = try workspace.pcast("play", live.playlist, "--render", "null")
                _ = try await player.event("dimensions")
                let file = workspace.path("thumbnail.jpg")
                try await workspace.run(
                    "curl",
                    [
                        // A busy machine may decode it too late for a response.
                        "-sSf", "--retry", "30", "--retry-delay", "1", "-o", file,
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
    }
}

extension RunningProgram {
    /// Waits for the end of `pcast-bench hls-rules`, and expects that the playlists have followed the rules. That a playlist
    /// is updated late, as on a busy machine, counts only in the full run.
    func expectRules() async throws {
        let status = try await exitStatus()
        let violations = events("violation")
        let isLate: (JSON) -> Bool = { !ThisMachine.isFull && $0["rule"].text == "updateTooLate" }
        let (late, others) = (violations.filter(isLate), violations.filter { !isLate($0) })
        if !late.isEmpty { print("playlists were updated late: \(late.compactMap { $0["detail"].text })") }
        #expect(others.isEmpty, "\(others)")
        // The program fails with the status 1 if there is any violation.
        #expect(status == (late.isEmpty ? 0 : 1), "\(report)")
    }
}
