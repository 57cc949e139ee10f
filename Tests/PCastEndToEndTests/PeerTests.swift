import Foundation
import Testing

extension EndToEnd {
    /// Other implementations by WHIP and WHEP, in a network without external connections.
    @Suite("Peers", .enabled(if: ThisMachine.hasPeers))
    struct PeerTests {
        struct Publisher: Sendable, CustomTestStringConvertible {
            let program: String
            let codec: String
            var options: [String] = []

            var testDescription: String { "\(program) \(codec) \(options.joined(separator: " "))" }
        }

        static let publishers = [
            Publisher(program: "whip_aiortc.py", codec: "H264", options: ["--codec", "H264"]),
            Publisher(program: "whip_aiortc.py", codec: "VP8", options: ["--codec", "VP8"]),
            Publisher(program: "whip_gstreamer.py", codec: "H264", options: ["--codec", "H264"]),
            Publisher(program: "whip_gstreamer.py", codec: "VP8", options: ["--codec", "VP8"]),
            Publisher(program: "whip_ffmpeg.py", codec: "H264"),
            Publisher(program: "whip_ffmpeg.py", codec: "H264", options: ["--dtls-active"]),
        ]

        /// The duration of watching in seconds: the full one, and one that is sufficient to see frames advance and hear
        /// audio.
        private static let watching = ThisMachine.isFull ? 15 : 2

        @Test(
            "each peer publishes by WHIP, and aiortc and GStreamer watch it by WHEP, also by a counter-offer",
            .timeLimit(.minutes(20)))
        func peers() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-\(getpid())"
                let platform = try await Self.platform(in: network, of: workspace)
                var known: Set<String> = []
                var lost = 0
                for publisher in Self.publishers {
                    let stream = try await Self.run(publisher, at: platform, in: network, known, &lost)
                    known.insert(stream)
                }
                // On loopback nothing is lost but what a socket has no room for, because its program does not read in time.
                let overflows = try await Self.receiveBufferErrors(in: network, of: workspace)
                try await platform.program.end()
                #expect(lost <= overflows, "\(overflows) datagrams found no room")
                #expect(!FileManager.default.fileExists(atPath: "/run/netns/\(network)"))
            }
        }

        @Test(
            "our client publishes to and watches from a server of another implementation, which confirms the ends",
            .timeLimit(.minutes(5)))
        func endpoint() async throws {
            try await TestWorkspace.run { workspace in
                let server = try workspace.start(
                    ThisMachine.peersPython, ["\(BuiltProgram.peers)/endpoint_aiortc.py", "--token", "secret-for-it"],
                    hears: true)
                let port = Int(try #require(try await server.event("listening")["port"].number))
                let publisher = try workspace.pcast(
                    "publish", "--uri", "whip://127.0.0.1:\(port)/whip", "--token", "secret-for-it", "--video",
                    "synthetic", "--audio", "synthetic", "--size", "640x360")
                for kind in ["video", "audio"] { _ = try await server.event("received") { $0["kind"].text == kind } }
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                _ = try await server.event("deleted") { $0["path"].text?.hasPrefix("/whip/") == true }

                // The token is part of the address.
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", "whep://secret-for-it@127.0.0.1:\(port)/whep")
                _ = try await viewer.event("firstFrame")
                _ = try await viewer.event("dimensions") { $0["height"].number == 360 }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                _ = try await server.event("deleted") { $0["path"].text?.hasPrefix("/whep/") == true }
                #expect(!viewer.report.contains("secret-for-it"))

                let rejected = try workspace.pcast("subscribe", "--uri", "whep://wrong@127.0.0.1:\(port)/whep")
                #expect(try await rejected.exitStatus() != 0)
                try server.notify("enough")
                try await server.expectExitStatus(0)
            }
        }

        @Test(
            "a browser publishes VP9, also with spatial layers in one SSRC, and AV1, which the SDK and a browser watch",
            .enabled(if: ThisMachine.hasChromium), .timeLimit(.minutes(5)),
            arguments: [("VP9", nil), ("VP9", "L2T2"), ("AV1", nil)] as [(String, String?)])
        func browsers(codec: String, mode: String?) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let layers = mode.map { ["--scalability-mode", $0] } ?? []
                let publisher = try Peer(
                    "publish_chromium.py",
                    ["\(platform.uri)/publish", "--codec", codec, "--size", "640x360", "--until-told"] + layers,
                    in: nil, of: workspace, seconds: 2, hears: true)
                let stream = try await platform.stream()
                let viewer = try await WatchedStream.open(stream, of: platform)
                // The lower one of two spatial layers has a half of the height.
                if mode != nil {
                    try await viewer.height(360, since: 0)
                } else {
                    #expect(await viewer.sizes.first() != nil)
                }
                await viewer.close()
                let page = try Peer(
                    "watch_chromium.py", ["\(platform.uri)/watch/\(stream)"], in: nil, of: workspace, seconds: 2)
                #expect(try await page.figures()["videoCodec"].text == "video/\(codec)")
                try publisher.program.notify("enough")
                let figures = try await publisher.figures()
                if let mode { #expect(figures["scalabilityMode"].text == mode) }
            }
        }

        @Test(
            "a browser that publishes VP9 sends H.264, too, while a viewer does not decode VP9",
            .enabled(if: ThisMachine.hasChromium), .timeLimit(.minutes(5)))
        func secondCodec() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace, ["--second-codec", "all"])
                let publisher = try Peer(
                    "publish_chromium.py",
                    ["\(platform.uri)/publish", "--codec", "VP9", "--size", "640x360", "--until-told"],
                    in: nil, of: workspace, seconds: 2, hears: true)
                let stream = try await platform.stream()
                // It measures its only connection, before it has another one.
                _ = try await publisher.program.event("measured")
                let viewer = try Peer(
                    "whep_aiortc.py", ["--url", "\(platform.uri)/whep/\(stream)", "--codec", "H264"],
                    in: nil, of: workspace, seconds: 2)
                let codec = try await viewer.figures()["codecs"]["video"].text
                #expect(codec?.hasSuffix("H264") == true)
                // Those who decode the first codec receive it.
                let page = try Peer(
                    "watch_chromium.py", ["\(platform.uri)/watch/\(stream)"], in: nil, of: workspace, seconds: 2)
                #expect(try await page.figures()["videoCodec"].text == "video/VP9")
                try publisher.program.notify("enough")
                _ = try await publisher.figures()
            }
        }

        private static func platform(in network: String, of workspace: TestWorkspace) async throws -> LocalPlatform {
            let serve = [
                "serve", "--listen", "127.0.1.1:8080", "--advertise", "127.0.1.1", "--application",
                LocalPlatform.application, "--json",
            ]
            // The command runs through `env`, because sudo removes the environment.
            let program = try workspace.start(
                "\(BuiltProgram.peers)/namespace.sh",
                [
                    network, "env", "PCAST_LOG_LEVEL=info", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)",
                    BuiltProgram.path("pcast"),
                ] + serve, limit: .longestSuite)
            return try await LocalPlatform(program, in: workspace)
        }

        /// The number of datagrams that found no room in a socket of a network (`RcvbufErrors`, proc_net_snmp).
        private static func receiveBufferErrors(in network: String, of workspace: TestWorkspace) async throws -> Int {
            // The program that created the network is outside of it.
            let lines = try await workspace.run(
                "\(BuiltProgram.peers)/namespace.sh", [network, "cat", "/proc/net/snmp"]
            ).output
            let rows = lines.filter { $0.hasPrefix("Udp:") }.map { $0.split(separator: " ") }
            guard rows.count == 2, let column = rows[0].firstIndex(of: "RcvbufErrors"), column < rows[1].count,
                let count = Int(rows[1][column])
            else { throw EndToEndFailure("no RcvbufErrors in \(lines)") }
            return count
        }

        /// Runs one publisher and its viewers, and returns the stream.
        private static func run(
            _ publisher: Publisher, at platform: LocalPlatform, in network: String, _ known: Set<String>,
            _ lost: inout Int
        ) async throws -> String {
            let workspace = platform.workspace
            let token = try await platform.publishingToken()
            let publishing = try Peer(
                publisher.program,
                ["--url", "\(platform.uri)/whip", "--token", token, "--until-told"] + publisher.options,
                in: network, of: workspace, seconds: watching, hears: true)
            let stream = try await platform.stream(otherThan: known)
            let viewing = try await platform.viewingToken(stream)
            let viewers = try ["whep_aiortc.py", "whep_gstreamer.py"].map { viewer in
                try Peer(
                    viewer,
                    ["--url", "\(platform.uri)/whep/\(stream)", "--token", viewing, "--codec", publisher.codec],
                    in: network, of: workspace, seconds: watching)
            }
            // This viewer first offers the codec that the stream does not have.
            let answering = try Peer(
                "whep_aiortc.py",
                [
                    "--url", "\(platform.uri)/whep/\(stream)", "--token", viewing, "--rejected-codec",
                    publisher.codec == "VP8" ? "H264" : "VP8",
                ], in: network, of: workspace, seconds: watching)
            for viewer in viewers + [answering] {
                let figures = try await viewer.figures()
                check(figures, publisher.codec, &lost)
                notify(figures, watching: publisher)
            }
            try publishing.program.notify("enough")
            check(try await publishing.figures(), publisher.codec, &lost)
            return stream
        }

        /// Checks what holds for every peer, in addition to its own checks.
        private static func check(_ figures: JSON, _ codec: String, _ lost: inout Int) {
            let peer = figures["peer"].text ?? ""
            if let agreed = figures["codecs"]["video"].text { #expect(agreed.hasSuffix(codec), "\(peer)") }
            switch figures["srtpProfile"].text {
            case let profile? where peer.hasPrefix("aiortc"):
                #expect(profile.hasPrefix("SRTP_AEAD_AES_"), "\(peer)")
            case let profile?: #expect(profile == "SRTP_AES128_CM_SHA1_80", "\(peer) supports counter mode only")
            case nil: #expect(peer.hasPrefix("FFmpeg"), "\(peer) reports its profile")
            }
            lost += max(0, Int(figures["videoPacketsLost"].number ?? 0))
        }

        private static func notify(_ figures: JSON, watching publisher: Publisher) {
            let rate = figures["framesPerSecond"].number ?? 0
            let first = figures["firstFrameMilliseconds"].number ?? 0
            print(
                "\(figures["peer"].text ?? "") watches \(publisher.testDescription): \(rate) frames per second, "
                    + "the first after \(first) ms, \(figures["srtpProfile"].text ?? "")")
        }
    }
}
