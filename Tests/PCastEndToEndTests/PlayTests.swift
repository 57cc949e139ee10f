import Foundation
import PCastCore
import Testing

extension EndToEnd {
    /// `pcast play`, checked by the last displayed frame.
    @Suite("Playing", .enabled(if: ThisMachine.hasFFmpeg))
    struct PlayTests {
        private static let seconds = 6

        /// Expects that the last frame of a film was displayed last.
        private static func expectLast(of film: Film, in frame: String, at workspace: TestWorkspace) async throws {
            let found = try await film.find(MediaFile(path: frame, workspace: workspace))
            #expect(found.frame == seconds * Film.frameRate - 1)
            #expect(found.difference * 5 < found.usualDifference)
        }

        @Test("a file is played to its end, passes its cue point, and its last frame is displayed")
        func file() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: Self.seconds, in: workspace)
                let player = try workspace.pcast(
                    "play", film.file.path, "--render", "null", "--cue", "1500ms=goal", "--screenshot",
                    workspace.path("last.png"))
                try await player.expectExitStatus(0)
                let passed = player.events("cue")
                #expect(passed.count == 1 && passed.first?["types"].list.first?.text == "goal")
                #expect(player.events("ready").count == 1 && player.events("finished").count == 1)
                #expect(player.events("dimensions").first?["width"].number == Double(Film.size.width))
                #expect(player.events("ended").first?["reason"].text == "completed")
                try await Self.expectLast(of: film, in: workspace.path("last.png"), at: workspace)
            }
        }

        @Test("a playlist of a web server is played from the requested position", .enabled(if: ThisMachine.hasPython))
        func playlist() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: Self.seconds, in: workspace)
                let playlist = workspace.path("main.m3u8")
                try await workspace.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-i", film.file.path, "-c", "copy", "-f", "hls", "-hls_time", "1",
                        "-hls_playlist_type", "vod", playlist,
                    ])
                let python = try #require(BuiltProgram.installed("python3"))
                let server = try workspace.start(python, ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
                let line = await server.output.lines.first { $0.contains("port") }
                let words = try #require(line).split(separator: " ")
                let port = try #require(words.compactMap { Int($0) }.first)
                let player = try workspace.pcast(
                    "play", "http://127.0.0.1:\(port)/main.m3u8", "--render", "null", "--start", "2s", "--screenshot",
                    workspace.path("last.png"))
                try await player.expectExitStatus(0)
                let positions = player.events("position").compactMap { $0["position"].number }
                #expect(positions.allSatisfy { $0 >= 2 } && positions.contains { $0 >= 3 })
                try await Self.expectLast(of: film, in: workspace.path("last.png"), at: workspace)
            }
        }

        @Test("unplayable media are reported with status 4")
        func nothing() async throws {
            try await TestWorkspace.run { workspace in
                let player = try workspace.pcast("play", workspace.path("nothing.mp4"), "--render", "null")
                try await player.expectExitStatus(4)
                #expect(player.events("ended").first?["reason"].text == "failed")
                #expect(player.messages.lines.values.contains { $0.contains("nothing.mp4") })
            }
        }
    }
}
