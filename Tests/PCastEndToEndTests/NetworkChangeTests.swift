import Foundation
import Testing

extension EndToEnd {
    /// Interfaces that go, and networks that let little through. How long a viewer waits then is measured by
    /// `pcast-bench networks`.
    @Suite("Networks change", .enabled(if: ThisMachine.hasNamespaces))
    struct NetworkChangeTests {
        @Test(
            "A viewer whose interface goes away sees frames by another, and remains subscribed",
            .timeLimit(.minutes(5)))
        func viewerMoves() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                let (publisher, viewing) = try await networks.publish()
                let viewer = try workspace.start(
                    "\(BuiltProgram.peers)/namespace.sh",
                    [networks.clientNetwork, BuiltProgram.path("pcast"), "subscribe"] + viewing + ["--json"])
                _ = try await viewer.event("firstFrame")
                try await Self.play(viewer)
                try await networks.change("link", "set", "first", "down")
                try await Self.play(viewer)
                try await networks.change("link", "set", "first", "up")
                try await networks.change(
                    "route", "replace", "10.9.0.1", "via", "10.1.0.1", "metric", "100")
                try await Self.play(viewer)
                try await networks.change("link", "set", "second", "down")
                try await Self.play(viewer)
                try await viewer.end(by: SIGINT)
                let summary = try await viewer.event("summary")
                let longest = try #require(summary["freezeDuration"].number)
                print("two changes of the interface froze the frame for \(longest) ms")
                #expect(viewer.events("subscribed").count == 1 && viewer.events("ended").count <= 1)
                try await publisher.end(by: SIGINT)
            }
        }

        @Test(
            "Where UDP is blocked frames come over TCP, and by TLS where nothing else gets through",
            .timeLimit(.minutes(5)))
        func blocked() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                // Connections arrive at another shard than that of the second stream.
                let (other, _) = try await networks.publish()
                let (publisher, viewing) = try await networks.publish()
                let port = "\(TwoNetworks.mediaPort)"
                for (way, kind) in [
                    ("TCP", ["ipproto", "udp"]), ("TLS", ["ipproto", "tcp", "dport", port]),
                ] {
                    try await networks.block(kind)
                    let viewer = try workspace.start(
                        "\(BuiltProgram.peers)/namespace.sh",
                        [networks.clientNetwork, BuiltProgram.path("pcast"), "subscribe"] + viewing + ["--json"])
                    let first = try #require(try await viewer.event("firstFrame")["milliseconds"].number)
                    print("UDP blocked: the first frame came by \(way) after \(first) ms")
                    _ = try await viewer.event("stats") { $0["framesRendered"].number ?? 0 > 60 }
                    try await viewer.end(by: SIGINT)
                }
                try await publisher.end(by: SIGINT)
                try await other.end(by: SIGINT)
            }
        }

        @Test(
            "a browser receives video over TCP, and over TLS if everything else is blocked", .timeLimit(.minutes(5)),
            .enabled(if: ThisMachine.hasChromium))
        func browser() async throws {
            try await TestWorkspace.run { workspace in
                let networks = try await TwoNetworks.start(in: workspace)
                let (publisher, viewing) = try await networks.publish()
                let token = viewing[5]
                let stream = try await networks.platform.stream()
                let page = "\(networks.platform.uri)/watch/\(stream)"
                for kind in [["ipproto", "udp"], ["ipproto", "tcp", "dport", "\(TwoNetworks.mediaPort)"]] {
                    try await networks.block(kind)
                    // The platform has a self-signed certificate.
                    let browser = try Peer(
                        "watch_chromium.py", [page, "--token", token, "--flag=--ignore-certificate-errors"],
                        in: networks.clientNetwork, of: workspace, seconds: 3)
                    let figures = try await browser.figures()
                    let first = try #require(figures["firstPictureMilliseconds"].number)
                    print("Chromium, \(kind.joined(separator: " ")) blocked: a frame after \(first) ms")
                }
                try await publisher.end(by: SIGINT)
            }
        }

        /// Waits for two seconds of frames, beyond those that statistics have reported already.
        private static func play(_ viewer: RunningProgram) async throws {
            let before = viewer.events("stats").last?["framesRendered"].number ?? 0
            _ = try await viewer.event("stats") { ($0["framesRendered"].number ?? 0) > before + 60 }
        }
    }
}
