import Foundation
import Testing

extension EndToEnd {
    /// The recipes of README.md, with the commands that stand there. The README's table of recipes names these tests.
    @Suite("Recipes of the README", .enabled(if: ThisMachine.hasNamespaces && ThisMachine.hasFFmpeg))
    struct RecipeTests {
        private func onPlatform(_ test: (RecipePlatform) async throws -> Void) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await RecipePlatform.start(in: workspace)
                try await test(platform)
                try await platform.local.program.end()
            }
        }

        /// The film is played often enough for a recording of it, with the time that a viewer needs to begin on a busy
        /// machine.
        private func makeFilm(in workspace: TestWorkspace) async throws -> Film {
            try await Film.make(seconds: 6, rounds: 30, in: workspace)
        }

        private func check(
            _ stream: String, of platform: RecipePlatform, shows film: Film? = nil, isHeard: Bool = true
        ) async throws {
            let (recording, screenshot) = try await platform.record(stream)
            let video = try await recording.track("video")
            #expect(video.frames > 30)
            let audio = try await recording.loudness()
            #expect(!isHeard || audio > -60)
            guard let film else { return }
            let found = try await film.find(screenshot)
            #expect(found.difference < 6, "the screenshot shows the film")
        }

        /// Starts the README's listener for SRT. It listens when this function returns, because an encoder tries to connect
        /// for three seconds only.
        private func startListener(on platform: RecipePlatform) async throws -> RunningProgram {
            let listener = try platform.start(
                try ReadmeRecipe("Publish with FFmpeg by SRT").command(with: "pcast pull"))
            try await platform.awaitDatagramPort(9_000, of: listener)
            return listener
        }

        private func publishTestPattern(to platform: RecipePlatform) async throws -> String {
            let publisher = try platform.start(
                #"pcast publish --uri "$URI" --token "$PUBLISH" --video synthetic --audio synthetic --json"#)
            guard let stream = try await publisher.event("publishing")["streamId"].text else {
                throw EndToEndFailure("no stream\n\(publisher.report)")
            }
            return stream
        }

        // MARK: Publishing

        @Test(
            "OBS publishes by SRT as the README says", .enabled(if: ThisMachine.hasOBS), .timeLimit(.minutes(5)))
        func obs() async throws {
            try await onPlatform { platform in
                let listener = try await startListener(on: platform)
                let server = platform.value(of: try ReadmeRecipe("Publish with OBS").code(with: "srt://"))
                let obs = try await OBS.start(server: server, on: platform)
                let stream = try await platform.local.stream()
                try await check(stream, of: platform, isHeard: false)
                try await obs.end()
                try await listener.end()
            }
        }

        @Test(
            "FFmpeg publishes by WHIP with the README's command", .enabled(if: ThisMachine.hasPeers),
            .timeLimit(.minutes(5)))
        func ffmpegByWHIP() async throws {
            try await onPlatform { platform in
                let film = try await makeFilm(in: platform.workspace)
                try await platform.useFFmpegWithWHIP()
                let recipe = try ReadmeRecipe("Publish with FFmpeg by WHIP (FFmpeg 8 or later)")
                let encoder = try platform.start(try recipe.command(with: "ffmpeg"))
                let stream = try await platform.local.stream()
                try await check(stream, of: platform, shows: film)
                try await encoder.end()
            }
        }

        @Test("FFmpeg publishes by SRT with the README's commands", .timeLimit(.minutes(5)))
        func ffmpegBySRT() async throws {
            try await onPlatform { platform in
                let film = try await makeFilm(in: platform.workspace)
                let recipe = try ReadmeRecipe("Publish with FFmpeg by SRT")
                let listener = try await startListener(on: platform)
                let encoder = try platform.start(try recipe.command(with: "ffmpeg"))
                let stream = try await platform.local.stream()
                try await check(stream, of: platform, shows: film)
                try await encoder.end()
                try await listener.end()
            }
        }

        @Test("FFmpeg publishes by SRT on one port", .timeLimit(.minutes(5)))
        func ffmpegBySRTOnOnePort() async throws {
            try await onPlatform { platform in
                let film = try await makeFilm(in: platform.workspace)
                let recipe = try ReadmeRecipe("Publish by SRT on one port")
                let encoder = try platform.start(try recipe.command(with: "ffmpeg"))
                let stream = try await platform.local.stream()
                try await check(stream, of: platform, shows: film)
                try await encoder.end()
            }
        }

        @Test("OBS publishes by SRT on one port", .enabled(if: ThisMachine.hasOBS), .timeLimit(.minutes(5)))
        func obsBySRTOnOnePort() async throws {
            try await onPlatform { platform in
                let server = platform.value(of: try ReadmeRecipe("Publish by SRT on one port").code(with: "srt://"))
                let obs = try await OBS.start(server: server, on: platform)
                let stream = try await platform.local.stream()
                try await check(stream, of: platform, isHeard: false)
                try await obs.end()
            }
        }

        @Test("FFmpeg publishes by RTMP with the README's commands", .timeLimit(.minutes(5)))
        func ffmpegByRTMP() async throws {
            try await onPlatform { platform in
                let film = try await makeFilm(in: platform.workspace)
                let recipe = try ReadmeRecipe("Publish with FFmpeg by RTMP")
                let encoder = try platform.start(try recipe.command(with: "ffmpeg"))
                let stream = try await platform.local.stream()
                try await check(stream, of: platform, shows: film)
                try await encoder.end()
            }
        }

        @Test(
            "GStreamer publishes with the README's command", .enabled(if: ThisMachine.hasPeers), .timeLimit(.minutes(5))
        )
        func gstreamer() async throws {
            try await onPlatform { platform in
                let recipe = try ReadmeRecipe("Publish with GStreamer")
                let publisher = try platform.start(try recipe.command(with: "whip_gstreamer.py"))
                try await check(try await platform.local.stream(), of: platform)
                try await publisher.end()
            }
        }

        @Test(
            "A browser publishes, and another one watches, at the README's addresses",
            .enabled(if: ThisMachine.hasChromium), .timeLimit(.minutes(5)))
        func browsers() async throws {
            try await onPlatform { platform in
                let machine = platform.machine
                let page = platform.value(of: try ReadmeRecipe("Publish from a browser").code(with: "/publish"))
                // The address has no certificate: this flag stands for HTTPS.
                let publishing = try Peer(
                    "publish_chromium.py",
                    [page, "--flag=--unsafely-treat-insecure-origin-as-secure=\(platform.local.uri)", "--until-told"],
                    in: machine.name, of: platform.workspace, seconds: 3, hears: true)
                let stream = try await platform.local.stream()
                let link = platform.value(
                    of: try ReadmeRecipe("Watch in a browser").code(with: "/watch/"), stream: stream)
                let watching = try Peer(
                    "watch_chromium.py", [link], in: machine.name, of: platform.workspace, seconds: 3)
                _ = try await watching.figures()
                try publishing.program.notify("end")
                _ = try await publishing.figures()
            }
        }

        // MARK: Watching

        @Test(
            "A player watches by WHEP with the README's command", .enabled(if: ThisMachine.hasPeers),
            .timeLimit(.minutes(5)))
        func whep() async throws {
            try await onPlatform { platform in
                let stream = try await publishTestPattern(to: platform)
                let recipe = try ReadmeRecipe("Watch with a WHEP player")
                let command = try recipe.command(with: "whep_aiortc.py")
                let length = /--seconds \d+/
                guard command.contains(length) else { throw EndToEndFailure("no duration: \(command)") }
                // The player ends when it has decoded so much, however long a busy machine takes for it.
                let shorter = command.replacing(length, with: "--seconds 4")
                let player = try platform.start(ThisMachine.isFull ? command : shorter, stream: stream)
                try await player.exitStatus()
                // The player judges the frame rate too, which depends on the machine's load.
                let figures = try #require(player.output.lines.values.last.flatMap(JSON.init(line:)))
                #expect(figures["error"] == .null, "\(player.report)")
                #expect(figures["framesDecoded"].number ?? 0 > 30, "\(player.report)")
                #expect(figures["audioFrames"].number ?? 0 > 100, "\(player.report)")
            }
        }

        @Test(
            "pcast watches in a terminal with the README's command",
            .enabled(
                if: FileManager.default.isExecutableFile(atPath: "/usr/bin/tmux"),
                "left out: the terminal: tmux is not installed (apt-get install tmux)"), .timeLimit(.minutes(5)))
        func terminal() async throws {
            try await onPlatform { platform in
                let workspace = platform.workspace
                let stream = try await publishTestPattern(to: platform)
                let recipe = try ReadmeRecipe("Watch, record and push with `pcast`")
                let socket = try await platform.startInTerminal(
                    try recipe.command(with: "--render terminal"), stream: stream)
                var screen: [String] = []
                let deadline = ContinuousClock.now + .timeout
                while ContinuousClock.now < deadline, !screen.joined().contains("▀") {
                    screen = try await workspace.run("tmux", ["-S", socket, "capture-pane", "-p"]).output
                }
                #expect(screen.joined().contains("▀"), "\(screen.joined(separator: "\n"))")
                try await workspace.run("tmux", ["-S", socket, "kill-server"])
            }
        }

        @Test("pcast records a stream and pushes it with the README's commands", .timeLimit(.minutes(5)))
        func recordAndPush() async throws {
            try await onPlatform { platform in
                let workspace = platform.workspace
                let stream = try await publishTestPattern(to: platform)
                try await check(stream, of: platform)
                let receiver = try platform.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-i", "srt://\(RecipePlatform.host):9000?mode=listener",
                        "-frames:v", "90", "-c", "copy", workspace.path("pushed.mkv"),
                    ])
                try await platform.awaitDatagramPort(9_000, of: receiver)
                let recipe = try ReadmeRecipe("Watch, record and push with `pcast`")
                let push = try platform.start(try recipe.command(with: "pcast push"), stream: stream)
                try await receiver.expectExitStatus(0)
                let video = try await MediaFile(path: workspace.path("pushed.mkv"), workspace: workspace).track("video")
                #expect(video.codec == "h264" && video.frames > 60)
                try await push.end()
            }
        }
    }
}
