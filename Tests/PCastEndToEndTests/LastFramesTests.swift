import Foundation
import PCast
import PCastCodecs
import PCastCore
import Testing

extension EndToEnd {
    /// The end of a stream for a viewer that also records it, so that the recording has all frames that were received.
    @Suite("The last frames of a stream that ends", .timeLimit(.minutes(5)))
    struct LastFramesTests {
        /// Returns the strip of the last frame of a recording.
        private static func lastStamp(of recording: String) throws -> TestPatternStamp? {
            var last: TestPatternStamp?
            let reader = try MediaReader(uri: recording)
            while let item = try reader.next() {
                if case .video(let frame) = item, let stamp = TestPatternStrip.read(frame) { last = stamp }
            }
            return last
        }

        private static func publish(
            to platform: LocalPlatform, in workspace: TestWorkspace
        ) async throws -> (program: RunningProgram, stream: String) {
            let publisher = try workspace.pcast(
                "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic", "--size", "640x360")
            return (publisher, try #require(try await publisher.event("publishing")["streamId"].text))
        }

        @Test("pcast subscribe shows the last frame that it has received")
        func program() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try await Self.publish(to: platform, in: workspace).program
                let (recording, screenshot) = (workspace.path("last.mkv"), workspace.path("last.png"))
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--render", "null", "--record", recording, "--screenshot",
                    screenshot)
                try await viewer.awaitStatistics(2)
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                try await viewer.expectExitStatus(0)
                guard case .video(let shown)? = try MediaReader(uri: screenshot).next() else {
                    throw EndToEndFailure("there is no screenshot\n\(viewer.report)")
                }
                let last = try #require(try Self.lastStamp(of: recording))
                #expect(TestPatternStrip.read(shown)?.counter == last.counter)
                try await platform.program.end()
            }
        }

        @Test("a renderer with a playout delay shows the last frame that it has received, and then stops")
        func renderer() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try await Self.publish(to: platform, in: workspace)
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let stream = try await pcast.subscribe(
                    streamToken: try await platform.viewingToken(publisher.stream))
                let renderer = stream.createRenderer(RendererOptions(useNullAudioDevice: true))
                renderer.overridePlayoutDelay(.milliseconds(500))
                try renderer.start()
                let path = workspace.path("last.mkv")
                let recording = try stream.record(to: path)
                let deadline = ContinuousClock.now + .timeout
                while (renderer.playoutDelay ?? .zero) < .milliseconds(400), ContinuousClock.now < deadline {
                    try await ContinuousClock().sleep(for: .milliseconds(50))
                }
                #expect(try #require(renderer.playoutDelay) >= .milliseconds(400))
                publisher.program.send(SIGINT)
                try await publisher.program.expectExitStatus(0)
                _ = await stream.ended
                await renderer.stopped
                recording.stop()
                let shown = try #require(renderer.lastVideoFrameRendered)
                let last = try #require(try Self.lastStamp(of: path))
                #expect(TestPatternStrip.read(shown)?.counter == last.counter)
                await pcast.shutdown()
                try await platform.program.end()
            }
        }
    }
}
