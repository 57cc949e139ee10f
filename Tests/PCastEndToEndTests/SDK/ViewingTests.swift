import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    /// The sample "View a Stream" of Phenix's documentation with a live stream, in its own program (`PCastViewing`).
    @Suite("Viewing a stream")
    struct ViewingTests {
        /// The programs of one test.
        private struct Scene {
            let platform: LocalPlatform
            let publisher: RunningProgram
            let viewer: RunningProgram

            /// Publishes the synthetic sources and views them.
            static func open(in workspace: TestWorkspace, _ variables: [String: String]) async throws -> Scene {
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                _ = try await publisher.event("publishing")
                let viewer = try workspace.start(
                    BuiltProgram.path("PCastViewing"),
                    [
                        platform.uri, await platform.authenticationToken(),
                        await platform.viewingToken(try await platform.stream()),
                    ], hears: true, variables: variables)
                return Scene(platform: platform, publisher: publisher, viewer: viewer)
            }

            func expect(_ line: String, after count: Int = 0) async throws {
                guard await viewer.output.lines.first(after: count, where: { $0 == line }) != nil else {
                    throw EndToEndFailure("there is no line “\(line)”\n\(viewer.report)")
                }
            }

            /// Returns the program's answer to a command.
            func ask(_ command: String) async throws -> String {
                let count = viewer.output.lines.values.count
                try viewer.notify(command)
                let word = command == "close" ? "closed" : command == "open" ? "opened" : command
                guard let line = await viewer.output.lines.first(after: count, where: { $0.hasPrefix(word) }) else {
                    throw EndToEndFailure("“\(command)” is not answered\n\(viewer.report)")
                }
                return line
            }

            /// Waits until a number of further frames were rendered.
            func frames(_ count: Int) async throws {
                func rendered() async throws -> Int { Int(try await ask("frames").dropFirst(7)) ?? 0 }
                let (first, deadline) = (try await rendered(), ContinuousClock.now + .timeout)
                while try await rendered() < first + count {
                    guard ContinuousClock.now < deadline else {
                        throw EndToEndFailure("the frames do not continue\n\(viewer.report)")
                    }
                }
            }

            func close() async throws {
                try viewer.notify("quit")
                try await viewer.expectExitStatus(0)
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }

        /// Returns the environment without a display and without an audio device.
        private static func bare(_ workspace: TestWorkspace) throws -> [String: String] {
            try audio(workspace, "", display: "")
        }

        private static func audio(
            _ workspace: TestWorkspace, _ configuration: String, display: String
        ) throws -> [String: String] {
            let path = workspace.path("alsa.conf")
            try configuration.write(toFile: path, atomically: true, encoding: .utf8)
            return ["ALSA_CONFIG_PATH": path, "DISPLAY": display, "WAYLAND_DISPLAY": ""]
        }

        private static func startDisplay(in workspace: TestWorkspace) async throws -> (
            server: RunningProgram, name: String
        ) {
            let server = try workspace.start(
                "/usr/bin/Xvfb",
                ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "1280x720x24"])
            return (server, ":" + (try #require(await server.output.lines.first { _ in true })))
        }

        @Test(
            "In order to view a stream you have to attach it to a render surface: the window shows video, and start answers ok",
            .enabled(
                if: FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb"),
                "left out: windows: Xvfb is not installed (apt-get install xvfb)"), .timeLimit(.minutes(5)))
        func window() async throws {
            try await TestWorkspace.run { workspace in
                let (server, display) = try await Self.startDisplay(in: workspace)
                let scene = try await Scene.open(in: workspace, try Self.audio(workspace, "", display: display))
                try await scene.expect("status ok")
                try await scene.expect("surface window")
                var seen: [TestPatternStamp] = []
                let deadline = ContinuousClock.now + .timeout
                while seen.count < 3, ContinuousClock.now < deadline {
                    let frame = try await RenderTests.look(at: display, in: workspace)
                    guard let stamp = TestPatternStrip.read(frame), stamp != seen.last else { continue }
                    #expect(frame.dimensions == Dimensions(width: 1_280, height: 720))
                    seen.append(stamp)
                }
                #expect(seen.count == 3, "the window shows no advancing video")
                // Without an audio device the stream is displayed nevertheless.
                #expect(try await scene.ask("audio") == "audio false")

                // After the application has closed and reopened it, it is delivered again.
                let count = scene.viewer.output.lines.values.count
                #expect(try await scene.ask("close") == "closed")
                #expect(try await scene.ask("open") == "opened")
                try await scene.expect("surface window", after: count)
                try await scene.frames(10)
                try await scene.close()
                server.send(SIGTERM)
            }
        }

        @Test(
            "The render surface callback may be called more than once: after the end of the display it receives another surface",
            .enabled(
                if: FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb"),
                "left out: windows: Xvfb is not installed (apt-get install xvfb)"), .timeLimit(.minutes(5)))
        func interruption() async throws {
            try await TestWorkspace.run { workspace in
                let (server, display) = try await Self.startDisplay(in: workspace)
                let scene = try await Scene.open(in: workspace, try Self.audio(workspace, "", display: display))
                try await scene.expect("surface window")
                try await scene.frames(10)
                server.send(SIGKILL)
                try await scene.expect("surface memory")
                try await scene.frames(10)
                #expect(try await scene.ask("stamp") != "stamp none")
                try await scene.close()
            }
        }

        @Test(
            "Without a display the render surface is memory, from which the application draws", .timeLimit(.minutes(5)))
        func memory() async throws {
            try await TestWorkspace.run { workspace in
                let scene = try await Scene.open(in: workspace, try Self.bare(workspace))
                try await scene.expect("status ok")
                try await scene.expect("surface memory")
                try await scene.frames(10)
                let first = try await scene.ask("stamp")
                try await scene.frames(10)
                let second = try await scene.ask("stamp")
                #expect(first != "stamp none" && second != "stamp none" && first != second)
                try await scene.close()
            }
        }

        /// A viewer whose audio device writes to a file.
        private static func heard(
            in workspace: TestWorkspace
        ) async throws -> (scene: Scene, played: String) {
            let played = workspace.path("played.raw")
            let configuration = """
                pcm.!default { type file slave.pcm { type null } file "\(played)" format "raw" }
                """
            let scene = try await Scene.open(in: workspace, try Self.audio(workspace, configuration, display: ""))
            try await scene.expect("status ok")
            return (scene, played)
        }

        /// The number of the first sample that is no silence, of those from another one on; nil if there is none.
        private static func firstLoudSample(of file: String, from first: Int) -> Int? {
            let data = FileManager.default.contents(atPath: file) ?? Data()
            return data.withUnsafeBytes { bytes in
                (first..<max(first, bytes.count / 2)).first { index in
                    abs(Int(bytes.loadUnaligned(fromByteOffset: index * 2, as: Int16.self))) > 1_000
                }
            }
        }

        /// Waits until audio is played that is no silence. The synthetic source has a beep each second.
        private static func awaitAudio(_ scene: Scene, _ played: String, from first: Int = 0) async throws {
            let deadline = ContinuousClock.now + .timeout
            while firstLoudSample(of: played, from: first) == nil {
                guard ContinuousClock.now < deadline else {
                    throw EndToEndFailure("nothing but silence is played\n\(scene.viewer.report)")
                }
                try await scene.frames(10)
            }
        }

        /// The number of samples that were played so far.
        private static func count(of played: String) -> Int {
            (FileManager.default.contents(atPath: played)?.count ?? 0) / 2
        }

        @Test("A renderer that is created without options plays audio", .timeLimit(.minutes(5)))
        func audio() async throws {
            try await TestWorkspace.run { workspace in
                let (scene, played) = try await Self.heard(in: workspace)
                #expect(try await scene.ask("audio") == "audio true")
                try await Self.awaitAudio(scene, played)
                try await scene.close()
            }
        }

        @Test(
            "[renderer muteAudio]; [renderer unmuteAudio]; BOOL isMuted = renderer.audioMuted", .timeLimit(.minutes(5)))
        func muting() async throws {
            try await TestWorkspace.run { workspace in
                let (scene, played) = try await Self.heard(in: workspace)
                try await Self.awaitAudio(scene, played)
                #expect(try await scene.ask("mute") == "mute true")
                // Audio that was written to the device is played. Then three seconds, with three beeps, are silent.
                let before = Self.count(of: played)
                let second = 96_000
                while Self.count(of: played) < before + 4 * second { try await scene.frames(10) }
                #expect(Self.firstLoudSample(of: played, from: before + second) == nil)
                #expect(try await scene.ask("unmute") == "unmute false")
                try await Self.awaitAudio(scene, played, from: Self.count(of: played))
                try await scene.close()
            }
        }
    }
}
