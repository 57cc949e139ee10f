import Foundation
import PCast
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
            static func open(in place: TestWorkspace, _ variables: [String: String]) async throws -> Scene {
                let platform = try await LocalPlatform.start(in: place)
                let publisher = try place.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                _ = try await publisher.event("publishing")
                let viewer = try place.start(
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
                try viewer.tell(command)
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
                        throw EndToEndFailure("the frames do not go on\n\(viewer.report)")
                    }
                }
            }

            func close() async throws {
                try viewer.tell("quit")
                #expect(try await viewer.exitStatus() == 0)
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }

        /// Returns the environment without a display and without an audio device.
        private static func bare(_ place: TestWorkspace) throws -> [String: String] {
            try audio(place, "", display: "")
        }

        private static func audio(
            _ place: TestWorkspace, _ configuration: String, display: String
        ) throws -> [String: String] {
            let path = place.path("alsa.conf")
            try configuration.write(toFile: path, atomically: true, encoding: .utf8)
            return ["ALSA_CONFIG_PATH": path, "DISPLAY": display, "WAYLAND_DISPLAY": ""]
        }

        private static func startDisplay(in place: TestWorkspace) async throws -> (server: RunningProgram, name: String)
        {
            let server = try place.start(
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
            try await TestWorkspace.run { place in
                let (server, display) = try await Self.startDisplay(in: place)
                let scene = try await Scene.open(in: place, try Self.audio(place, "", display: display))
                try await scene.expect("status ok")
                try await scene.expect("surface window")
                var seen: [TestPatternStamp] = []
                let deadline = ContinuousClock.now + .timeout
                while seen.count < 3, ContinuousClock.now < deadline {
                    let frame = try await RenderTests.look(at: display, in: place)
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
            try await TestWorkspace.run { place in
                let (server, display) = try await Self.startDisplay(in: place)
                let scene = try await Scene.open(in: place, try Self.audio(place, "", display: display))
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
            try await TestWorkspace.run { place in
                let scene = try await Scene.open(in: place, try Self.bare(place))
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

        @Test("A renderer that is created without options plays audio", .timeLimit(.minutes(5)))
        func audio() async throws {
            try await TestWorkspace.run { place in
                let played = place.path("played.raw")
                let configuration = """
                    pcm.!default { type file slave.pcm { type null } file "\(played)" format "raw" }
                    """
                let scene = try await Scene.open(in: place, try Self.audio(place, configuration, display: ""))
                try await scene.expect("status ok")
                #expect(try await scene.ask("audio") == "audio true")
                // The synthetic source beeps every second.
                let deadline = ContinuousClock.now + .timeout
                var isHeard = false
                while !isHeard, ContinuousClock.now < deadline {
                    try await scene.frames(10)
                    let data = FileManager.default.contents(atPath: played) ?? Data()
                    isHeard = data.withUnsafeBytes { bytes in
                        stride(from: 0, to: bytes.count - 1, by: 2).contains { offset in
                            abs(Int(bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))) > 1_000
                        }
                    }
                }
                #expect(isHeard, "only silence is played")
                try await scene.close()
            }
        }
    }
}
