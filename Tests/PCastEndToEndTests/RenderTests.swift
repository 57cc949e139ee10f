import Foundation
import PCast
import PCastCodecs
import PCastCore
import Testing

extension EndToEnd {
    /// `pcast subscribe` with visible output.
    @Suite(
        "Rendering",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb"),
            "left out: windows: Xvfb is not installed (apt-get install xvfb)"))
    struct RenderTests {
        /// Returns whether a program has loaded SDL.
        private static func hasSDL(_ program: RunningProgram) -> Bool {
            guard let process = program.processID, let file = fopen("/proc/\(process)/maps", "r") else { return false }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 4_096)
            while fgets(&line, Int32(line.count), file) != nil {
                if strstr(line, "libSDL2") != nil { return true }
            }
            return false
        }

        /// Takes a frame of a display by FFmpeg.
        static func look(at display: String, in workspace: TestWorkspace) async throws -> VideoFrame {
            let path = workspace.folder.appendingPathComponent("\(UUID().uuidString).png").path
            let grab = try workspace.start(
                "/usr/bin/ffmpeg",
                ["-hide_banner", "-loglevel", "error", "-f", "x11grab", "-i", display, "-frames:v", "1", path])
            guard try await grab.exitStatus() == 0, case .video(let frame)? = try MediaReader(uri: path).next()
            else { throw EndToEndFailure("nothing is seen on \(display)\n\(grab.report)") }
            return frame
        }

        @Test(
            "the window shows the captured frame, and programs without a window do not load SDL",
            .timeLimit(.minutes(5)))
        func window() async throws {
            try await TestWorkspace.run { workspace in
                let server = try workspace.start(
                    "/usr/bin/Xvfb",
                    ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "1280x720x24"])
                let display = ":" + (try #require(await server.output.lines.first { _ in true }))
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                _ = try await publisher.event("publishing")
                let headless = try workspace.pcast("subscribe", "--uri", platform.uri, "--render", "null")
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--render", "window", variables: ["DISPLAY": display])
                _ = try await viewer.event("firstFrame")
                _ = try await headless.event("firstFrame")
                #expect(Self.hasSDL(viewer))
                for program in [platform.program, publisher, headless] { #expect(!Self.hasSDL(program)) }

                // The strip on the screen is a moment old, and advances.
                var seen: [TestPatternStamp] = []
                let deadline = ContinuousClock.now + .timeout
                while seen.count < 2, ContinuousClock.now < deadline {
                    let frame = try await Self.look(at: display, in: workspace)
                    guard let stamp = TestPatternStrip.read(frame), stamp != seen.last else { continue }
                    #expect(frame.dimensions == Dimensions(width: 1_280, height: 720))
                    seen.append(stamp)
                }
                #expect(seen.count == 2)
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                for program in [headless, publisher] { program.send(SIGINT) }
                try await platform.program.end()
                server.send(SIGTERM)
            }
        }

        @Test(
            "without a display a window is rejected with a sentence and the exit status for devices",
            .timeLimit(.minutes(5)))
        func noDisplay() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                _ = try await publisher.event("publishing")
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--render", "window",
                    variables: ["DISPLAY": "", "WAYLAND_DISPLAY": ""])
                try await viewer.expectExitStatus(5)
                #expect(viewer.messages.lines.values.contains { $0.contains("No window can be opened") })
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }

        @Test(
            "the terminal shows video, and the key q ends it and restores the terminal",
            .enabled(
                if: FileManager.default.isExecutableFile(atPath: "/usr/bin/tmux"),
                "left out: the terminal: tmux is not installed (apt-get install tmux)"), .timeLimit(.minutes(5)))
        func terminal() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                _ = try await publisher.event("publishing")
                let socket = workspace.folder.appendingPathComponent("tmux").path
                func tmux(_ words: String...) async throws -> [String] {
                    let program = try workspace.start("/usr/bin/tmux", ["-S", socket, "-f", "/dev/null"] + words)
                    try await program.exitStatus()
                    return program.output.lines.values
                }
                let pcast = try BuiltProgram.path("pcast")
                // "over" is written when the program has ended and the shell continues.
                _ = try await tmux(
                    "new-session", "-d", "-x", "100", "-y", "30",
                    "'\(pcast)' subscribe --uri \(platform.uri) --render terminal; echo over $?; read wait")
                func waits(_ holds: ([String]) -> Bool) async throws -> Bool {
                    let deadline = ContinuousClock.now + .timeout
                    while ContinuousClock.now < deadline {
                        if holds(try await tmux("capture-pane", "-p", "-e")) { return true }
                    }
                    return false
                }
                #expect(try await waits { $0.joined().contains("▀") && $0.joined().contains("[48;2;") })
                _ = try await tmux("send-keys", "q")
                #expect(try await waits { $0.contains { $0.contains("over 0") } })
                _ = try await tmux("kill-server")
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }
    }
}
