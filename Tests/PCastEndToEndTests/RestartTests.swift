import Foundation
import Testing

extension EndToEnd {
    /// ICE restarts when media is blocked on every path while the session is not. The call continues over another
    /// address.
    @Suite("ICE restarts", .enabled(if: ThisMachine.hasNamespaces))
    struct RestartTests {
        /// The platform's log message about a restart.
        private static let received = "ICE restarted"

        @Test(
            "pcast's viewer restarts ICE when nothing arrives, and receives video over its other address",
            .timeLimit(.minutes(5)))
        func viewer() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                let (publisher, viewing) = try await networks.publish()
                let viewer = try workspace.start(
                    "\(BuiltProgram.peers)/namespace.sh",
                    [networks.clientNetwork, BuiltProgram.path("pcast"), "subscribe"] + viewing + ["--json"])
                try await viewer.awaitStatistics(2)
                try await Self.sitOut(networks)
                try await Self.awaitFrames(of: viewer)
                try await Self.end(viewer, publisher)
                #expect(viewer.events("subscribed").count == 1)
            }
        }

        @Test(
            "pcast's publisher restarts ICE when nothing arrives, and its viewer receives video again",
            .timeLimit(.minutes(5)))
        func publisher() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                let platform = networks.platform
                let publisher = try networks.atClient(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic")
                let stream = try #require(
                    try await publisher.event("publishing")["streamId"].text)
                let viewer = try networks.atServer(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(),
                    "--token", try await platform.viewingToken(stream))
                try await viewer.awaitStatistics(2)
                try await Self.sitOut(networks)
                try await Self.awaitFrames(of: viewer)
                try await Self.end(viewer, publisher)
                #expect(publisher.events("publishing").count == 1 && viewer.events("subscribed").count == 1)
            }
        }

        /// Waits for two seconds of new frames, and returns how long that took.
        private static func awaitFrames(of viewer: RunningProgram) async throws {
            let start = ContinuousClock.now
            let before = try #require(viewer.events("stats").last?["framesRendered"].number)
            _ = try await viewer.event("stats") {
                ($0["framesRendered"].number ?? 0) > before + 60
            }
            print("the network is back: sixty more frames after \(start.duration(to: .now))")
        }

        private static func end(_ viewer: RunningProgram, _ publisher: RunningProgram) async throws {
            // A program that is asked to end exits with 0. One that lost its connection has already ended with another
            // status.
            for program in [viewer, publisher] {
                program.send(SIGINT)
                try await program.expectExitStatus(0)
            }
        }

        @Test(
            "a browser's viewer restarts ICE by PATCH at its WHEP resource, and keeps its connection",
            .timeLimit(.minutes(5)), .enabled(if: ThisMachine.hasChromium))
        func browsersViewer() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                let (publisher, viewing) = try await networks.publish()
                let stream = try await networks.platform.stream()
                let browser = try Peer(
                    "watch_chromium.py",
                    ["\(networks.platform.uri)/watch/\(stream)", "--token", viewing[5], "--outage"],
                    in: networks.clientNetwork, of: workspace, seconds: 2)
                try await Self.sitOut(browser, networks)
                _ = try await browser.figures()
                try await publisher.end(by: SIGINT)
            }
        }

        @Test(
            "a browser's publisher restarts ICE by PATCH at its WHIP resource, and keeps its connection",
            .timeLimit(.minutes(5)), .enabled(if: ThisMachine.hasChromium))
        func browsersPublisher() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                let platform = networks.platform
                let browser = try Peer(
                    "publish_chromium.py",
                    [
                        "\(platform.uri)/publish", "--token", try await platform.publishingToken(), "--outage",
                        "--flag=--unsafely-treat-insecure-origin-as-secure=\(platform.uri)",
                    ], in: networks.clientNetwork, of: workspace, seconds: 2)
                let stream = try await platform.stream()
                let viewer = try networks.atServer(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(),
                    "--token", try await platform.viewingToken(stream))
                try await viewer.awaitStatistics(2)
                try await Self.sitOut(browser, networks)
                try await Self.awaitFrames(of: viewer)
                _ = try await browser.figures()
                #expect(viewer.events("subscribed").count == 1)
            }
        }

        /// Disconnects the browser until the platform has received its restart.
        private static func sitOut(_ browser: Peer, _ networks: TwoNetworks) async throws {
            let isReady = await browser.program.output.lines.first { $0 == "ready for an outage" }
            guard isReady != nil else { throw EndToEndFailure("no frame\n\(browser.program.report)") }
            try await sitOut(networks)
        }

        /// Blocks media until the platform has received a restart. An earlier restart was for TURN, from a page without
        /// a connection within a second.
        private static func sitOut(_ networks: TwoNetworks) async throws {
            let program = networks.platform.program
            let earlier = program.messages.lines.values
            if let restart = earlier.last(where: { $0.contains(received) }) { print("before the outage: \(restart)") }
            try await networks.cutMedia()
            _ = try await program.message(containing: received, after: earlier.count)
            try await networks.healMediaBySecond()
        }
    }
}
