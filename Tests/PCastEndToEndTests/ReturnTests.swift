import Foundation
import Testing

extension EndToEnd {
    /// Peers that disconnect for a moment, and what of a stream persists.
    @Suite("Reconnecting")
    struct ReturnTests {
        /// A platform with persistent data that can be killed and restarted at the same address.
        private struct Platform {
            let workspace: TestWorkspace
            let options: [String]
            private(set) var running: LocalPlatform
            private let port: Int

            init(in workspace: TestWorkspace, _ options: String...) async throws {
                self.workspace = workspace
                self.options =
                    ["--application", LocalPlatform.application, "--data", workspace.path("data")] + options
                let all = self.options
                (running, port) = try await ChosenPort.find(count: 2) { port in
                    try await Self.serve(workspace, port, all).map { ($0, port) }
                }
            }

            /// Starts a platform with two consecutive ports; nil if another socket has one of them.
            private static func serve(
                _ workspace: TestWorkspace, _ port: Int, _ options: [String]
            ) async throws -> LocalPlatform? {
                let program = try workspace.start(
                    BuiltProgram.path("pcast"),
                    ["serve", "--listen", "127.0.0.1:\(port)", "--rtc-port", "\(port + 1)", "--json"] + options)
                guard try await program.listens() != nil else { return nil }
                return try await LocalPlatform(program, in: workspace)
            }

            /// Kills the platform, and returns the time of that.
            mutating func kill() async throws -> ContinuousClock.Instant {
                running.program.send(SIGKILL)
                try await running.program.exitStatus()
                return .now
            }

            mutating func startNextPass() async throws {
                running = try #require(try await Self.serve(workspace, port, options), "the port is in use")
            }
        }

        private struct Scene {
            let publisher: RunningProgram
            let viewer: RunningProgram
            let stream: String
            let publishing: [String]

            init(at platform: LocalPlatform, _ workspace: TestWorkspace) async throws {
                let authentication = try await platform.authenticationToken()
                publishing = [
                    "publish", "--uri", platform.uri, "--token", authentication, "--token",
                    try await workspace.token(LocalPlatform.application, "--type", "publish", "--apply-tag", "studio"),
                    "--video", "synthetic", "--audio", "synthetic", "--size", "320x180", "--resume",
                ]
                publisher = try workspace.start(
                    try BuiltProgram.path("pcast"), publishing + ["--json"])
                stream = try #require(
                    try await publisher.event("publishing")["streamId"].text)
                viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", authentication, "--token",
                    try await platform.viewingToken(stream))
                _ = try await viewer.event("firstFrame")
                _ = try await viewer.event("stats")
            }

            /// Waits for frames beyond those that were shown before.
            func awaitFrames(beyond before: Double) async throws {
                _ = try await viewer.event("stats") {
                    ($0["framesRendered"].number ?? 0) > before + 20
                }
            }

            var frames: Double { viewer.events("stats").last?["framesRendered"].number ?? 0 }

            func end() async throws {
                for program in [viewer, publisher] where program.isRunning {
                    program.send(SIGINT)
                    try await program.expectExitStatus(0)
                }
            }
        }

        /// Returns the record after it contains the end of the stream. The program that ended it may exit before that
        /// is written.
        private static func inspectEnd(
            of stream: String, at platform: LocalPlatform, _ workspace: TestWorkspace
        ) async throws -> String {
            let limit = ContinuousClock.now + .timeout
            while true {
                let record = try await inspect(stream, at: platform, workspace)
                if record.contains(#""reason":"#) || ContinuousClock.now > limit { return record }
            }
        }

        /// Returns the record of a stream as the application sees it.
        private static func inspect(_ stream: String, at platform: LocalPlatform, _ workspace: TestWorkspace)
            async throws
            -> String
        {
            try await workspace.run(
                "curl", ["-s", "-u", LocalPlatform.application, "\(platform.uri)/pcast/stream/\(stream)"]
            ).output.joined()
        }

        @Test(
            "after a kill and a restart publisher and viewer continue the same stream, which has not ended",
            .timeLimit(.minutes(5)))
        func restart() async throws {
            try await TestWorkspace.run { workspace in
                var platform = try await Platform(in: workspace, "--reconnect-grace", "180s")
                let scene = try await Scene(at: platform.running, workspace)
                let killed = try await platform.kill()
                let before = scene.frames
                try await platform.startNextPass()
                let started = killed.duration(to: .now)
                // Both are notified that they are offline and then online in the same session.
                for program in [scene.publisher, scene.viewer] {
                    let broken = try await program.event("offline")["time"].text ?? ""
                    _ = try await program.event("online") { ($0["time"].text ?? "") > broken }
                    let sessions = Set(program.events("authenticated").compactMap { $0["sessionId"].text })
                    #expect(sessions.count == 1, "\(program.name)")
                }
                try await scene.awaitFrames(beyond: before)
                print("restarted after \(started), twenty more frames after \(killed.duration(to: .now))")
                #expect(scene.publisher.events("publishing").count == 1)
                #expect(scene.viewer.events("subscribed").count == 1)
                let record = try await Self.inspect(scene.stream, at: platform.running, workspace)
                #expect(record.contains(scene.stream) && !record.contains("failed"), "\(record)")
                try await scene.end()
                let ended = try await Self.inspectEnd(of: scene.stream, at: platform.running, workspace)
                #expect(ended.contains(#""reason":"ended""#), "\(ended)")
            }
        }

        @Test(
            "the watch page reconnects by itself after a kill and a restart", .timeLimit(.minutes(5)),
            .enabled(if: ThisMachine.hasChromium))
        func page() async throws {
            try await TestWorkspace.run { workspace in
                var platform = try await Platform(in: workspace, "--reconnect-grace", "180s")
                let scene = try await Scene(at: platform.running, workspace)
                let token = try await platform.running.viewingToken(scene.stream)
                let browser = try Peer(
                    "watch_chromium.py",
                    ["\(platform.running.uri)/watch/\(scene.stream)", "--token", token, "--restart"], in: nil,
                    of: workspace, seconds: 10)
                let isReady = await browser.program.output.lines.first {
                    $0 == "ready for an outage"
                }
                try #require(isReady != nil, "\(browser.program.report)")
                _ = try await platform.kill()
                try await platform.startNextPass()
                _ = try await browser.figures()
                try await scene.end()
            }
        }

        @Test(
            "the publish page republishes by itself after a kill and a restart", .timeLimit(.minutes(5)),
            .enabled(if: ThisMachine.hasChromium))
        func publishPage() async throws {
            try await TestWorkspace.run { workspace in
                var platform = try await Platform(in: workspace)
                let browser = try Peer(
                    "publish_chromium.py",
                    [
                        "\(platform.running.uri)/publish", "--codec", "VP8", "--restart", "--until-told", "--token",
                        try await platform.running.publishingToken(),
                    ], in: nil, of: workspace, seconds: 2, hears: true)
                let isReady = await browser.program.output.lines.first {
                    $0 == "ready for an outage"
                }
                try #require(isReady != nil, "\(browser.program.report)")
                _ = try await platform.kill()
                try await platform.startNextPass()
                // The media of its camera and microphone arrive under the current name of its link.
                let stream = try await platform.running.stream()
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.running.uri, "--token",
                    try await platform.running.authenticationToken(), "--token",
                    try await platform.running.viewingToken(stream))
                _ = try await viewer.event("firstFrame")
                try browser.program.notify("enough")
                let figures = try await browser.figures()
                #expect(figures["streamID"].text == stream)
                #expect(figures["formerStreamID"].text != stream)
                #expect(try await viewer.event("ended")["reason"].text == "ended")
            }
        }

        @Test(
            "a publisher that does not return after a restart has failed", .timeLimit(.minutes(5)))
        func absentPublisher() async throws {
            try await TestWorkspace.run { workspace in
                let timeout = ThisMachine.isFull ? 15.0 : 4.0
                var platform = try await Platform(in: workspace, "--reconnect-grace", "\(Int(timeout))s")
                let scene = try await Scene(at: platform.running, workspace)
                _ = try await platform.kill()
                scene.publisher.send(SIGKILL)
                try await scene.publisher.exitStatus()
                let restarted = Date()
                try await platform.startNextPass()
                // It waits for the publisher before.
                let end = try await scene.viewer.event("ended")
                #expect(end["reason"].text == "failed")
                #expect(try end.time.timeIntervalSince(restarted) >= timeout)
                let record = try await Self.inspectEnd(of: scene.stream, at: platform.running, workspace)
                #expect(record.contains(#""reason":"failed""#), "\(record)")
            }
        }

        @Test(
            "a publisher that crashes and returns resumes its stream, and the viewer continues",
            .timeLimit(.minutes(5)))
        func resume() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await Platform(in: workspace)
                let scene = try await Scene(at: platform.running, workspace)
                scene.publisher.send(SIGKILL)
                try await scene.publisher.exitStatus()
                let before = scene.frames
                let second = try workspace.start(
                    try BuiltProgram.path("pcast"), scene.publishing + ["--json"])
                #expect(try await second.event("publishing")["streamId"].text == scene.stream)
                try await scene.awaitFrames(beyond: before)
                #expect(scene.viewer.events("subscribed").count == 1)
                second.send(SIGINT)
                #expect(try await scene.viewer.event("ended")["reason"].text == "ended")
                try await second.expectExitStatus(0)
            }
        }

        @Test(
            "a session that is absent for too long ends, and its stream fails", .timeLimit(.minutes(5)))
        func absentSession() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await Platform(in: workspace, "--session-timeout", "2s")
                let scene = try await Scene(at: platform.running, workspace)
                let killed = Date()
                scene.publisher.send(SIGKILL)
                try await scene.publisher.exitStatus()
                // This is before the thirty seconds after which a silent publisher fails.
                let end = try await scene.viewer.event("ended")
                #expect(end["reason"].text == "failed")
                #expect(try end.time.timeIntervalSince(killed) < 29)
            }
        }

        @Test(
            "publish and subscribe continue after maintenance, because they retry until the platform is back",
            .timeLimit(.minutes(5)))
        func maintenance() async throws {
            try await TestWorkspace.run { workspace in
                var platform = try await Platform(in: workspace)
                let authentication = try await platform.running.authenticationToken()
                let publisher = try workspace.start(
                    try BuiltProgram.path("pcast"),
                    [
                        "publish", "--json", "--uri", platform.running.uri, "--token", authentication, "--token",
                        try await platform.running.publishingToken(), "--video", "synthetic", "--size", "320x180",
                    ], recovers: true)
                let first = try await publisher.event("publishing")["streamId"].text
                let viewer = try workspace.start(
                    try BuiltProgram.path("pcast"),
                    [
                        "subscribe", "--json", "--uri", platform.running.uri, "--token", authentication, "--token",
                        try await workspace.token(LocalPlatform.application, "--type", "stream"),
                    ], recovers: true)
                let seen = try await viewer.event("firstFrame")["time"].text ?? ""
                platform.running.program.send(SIGTERM)
                try await platform.running.program.expectExitStatus(0)
                for program in [publisher, viewer] {
                    #expect(
                        try await program.event("retrying")["reason"].text == "maintenance")
                }
                try await platform.startNextPass()
                let second = try await publisher.event("publishing") {
                    $0["streamId"].text != first
                }
                #expect(second["watch"].text?.contains(try #require(second["streamId"].text)) == true)
                // The newest stream is selected, as before.
                _ = try await viewer.event("firstFrame") { ($0["time"].text ?? "") > seen }
                for program in [viewer, publisher] {
                    program.send(SIGINT)
                    try await program.expectExitStatus(0)
                    #expect(program.events("ended").count == 1)
                }
            }
        }
    }
}
