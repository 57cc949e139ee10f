import Foundation
import Testing

extension EndToEnd {
    /// Media that is cut off on every way while its session is not: ICE restarts, and the call goes on by another address.
    @Suite("ICE restarts", .enabled(if: ThisMachine.hasNamespaces))
    struct RestartTests {
        /// What the platform says of a restart.
        private static let told = "ICE restarted"

        @Test(
            "pcast's viewer restarts ICE when nothing is heard any more, and has pictures by its other address",
            .timeLimit(.minutes(5)))
        func viewer() async throws {
            try await TestWorkspace.run { place in
                let networks = try await TwoNetworks.start(in: place)
                let (publisher, viewing) = try await networks.publish()
                let viewer = try place.start(
                    "\(BuiltProgram.peers)/namespace.sh",
                    [networks.clientNetwork, BuiltProgram.path("pcast"), "subscribe"] + viewing + ["--json"])
                try await viewer.awaitStatistics(2)
                try await Self.sitOut(networks)
                try await Self.awaitPictures(of: viewer)
                try await Self.end(viewer, publisher)
                #expect(viewer.events("subscribed").count == 1)
            }
        }

        @Test(
            "pcast's publisher restarts ICE when nothing is heard any more, and its viewer has pictures again",
            .timeLimit(.minutes(5)))
        func publisher() async throws {
            try await TestWorkspace.run { place in
                let networks = try await TwoNetworks.start(in: place)
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
                try await Self.awaitPictures(of: viewer)
                try await Self.end(viewer, publisher)
                #expect(publisher.events("publishing").count == 1 && viewer.events("subscribed").count == 1)
            }
        }

        /// Two seconds of new pictures; says how long they took.
        private static func awaitPictures(of viewer: RunningProgram) async throws {
            let start = ContinuousClock.now
            let before = try #require(viewer.events("stats").last?["framesRendered"].number)
            _ = try await viewer.event("stats") {
                ($0["framesRendered"].number ?? 0) > before + 60
            }
            print("the network is back: sixty more pictures after \(start.duration(to: .now))")
        }

        private static func end(_ viewer: RunningProgram, _ publisher: RunningProgram) async throws {
            // Who is asked to end ends with 0; who was cut off has ended before, with another status.
            for program in [viewer, publisher] {
                program.send(SIGINT)
                #expect(try await program.exitStatus() == 0, "\(program.name)")
            }
        }

        @Test(
            "A browser's viewer restarts ICE by PATCH at its WHEP resource, and goes on with the same connection",
            .timeLimit(.minutes(5)), .enabled(if: ThisMachine.hasChromium))
        func browsersViewer() async throws {
            try await TestWorkspace.run { place in
                let networks = try await TwoNetworks.start(in: place)
                let (publisher, viewing) = try await networks.publish()
                let stream = try await networks.platform.stream()
                let browser = try Peer(
                    "watch_chromium.py",
                    ["\(networks.platform.uri)/watch/\(stream)", "--token", viewing[5], "--outage"],
                    in: networks.clientNetwork, of: place, seconds: 6)
                try await Self.sitOut(browser, networks)
                _ = try await browser.figures()
                try await publisher.end(by: SIGINT)
            }
        }

        @Test(
            "A browser's publisher restarts ICE by PATCH at its WHIP resource, and goes on with the same connection",
            .timeLimit(.minutes(5)), .enabled(if: ThisMachine.hasChromium))
        func browsersPublisher() async throws {
            try await TestWorkspace.run { place in
                let networks = try await TwoNetworks.start(in: place)
                let platform = networks.platform
                let browser = try Peer(
                    "publish_chromium.py",
                    [
                        "\(platform.uri)/publish", "--token", try await platform.publishingToken(), "--outage",
                        "--flag=--unsafely-treat-insecure-origin-as-secure=\(platform.uri)",
                    ], in: networks.clientNetwork, of: place, seconds: 6)
                let stream = try await platform.stream()
                let viewer = try networks.atServer(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(),
                    "--token", try await platform.viewingToken(stream))
                try await viewer.awaitStatistics(2)
                try await Self.sitOut(browser, networks)
                try await Self.awaitPictures(of: viewer)
                _ = try await browser.figures()
                #expect(viewer.events("subscribed").count == 1)
            }
        }

        /// Cuts the browser off, until the platform has heard of its restart.
        private static func sitOut(_ browser: Peer, _ networks: TwoNetworks) async throws {
            let isReady = await browser.program.output.lines.first { $0 == "ready for an outage" }
            guard isReady != nil else { throw EndToEndFailure("no picture\n\(browser.program.report)") }
            try await sitOut(networks)
        }

        /// Cuts media off, until the platform has heard of a restart. One that came before was for TURN, by a page that had
        /// no connection within a second.
        private static func sitOut(_ networks: TwoNetworks) async throws {
            let program = networks.platform.program
            let earlier = program.messages.lines.values
            if let restart = earlier.last(where: { $0.contains(told) }) { print("before the outage: \(restart)") }
            try await networks.cutMedia()
            _ = try await program.message(containing: told, after: earlier.count)
            try await networks.healMediaBySecond()
        }
    }
}
