import Foundation
import Testing

extension EndToEnd {
    /// A live stream by HLS in the players of other projects that are installed, and in this project's own.
    @Suite("HLS players", .timeLimit(.minutes(20)))
    struct HLSPlayerTests {
        /// The duration of playback in seconds, before the publisher reconnects.
        private static let watching = ThisMachine.isFull ? 300 : 20

        /// The same for encrypted media, which differ only in how their bytes are read.
        private static let decryption = ThisMachine.isFull ? 300 : 12

        /// The seconds that the programs of players add to their time limits (`EXTRA_TIME` of `hls_page.py`).
        private static let extraTime = 160

        /// The size of the video, and the size after the publisher reconnected. They are small, because several players
        /// decode the stream on one machine.
        private static let sizes = ("480x270", "320x180")

        /// A program of `peers/` that plays the stream, and checks that it does.
        struct Player: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// Whether it continues after a gap.
            fileprivate let continues: Bool
            /// Whether it continues if the size of the video changes then.
            fileprivate let followsSize: Bool
            private let arguments: @Sendable (HLSTests.Live) async throws -> [String]
            private let program: String

            /// Creates a player. `arguments` are those for a stream.
            init(
                _ name: String, _ program: String, continues: Bool = true, followsSize: Bool = true,
                _ arguments: @escaping @Sendable (HLSTests.Live) async throws -> [String]
            ) {
                testDescription = name
                self.continues = continues
                self.followsSize = followsSize
                self.program = program
                self.arguments = arguments
            }

            /// Starts the program, which watches for a number of seconds. `reconnection` is the size with which the publisher
            /// will reconnect, if the player continues then; nil if it will not.
            fileprivate func start(
                _ live: HLSTests.Live, seconds: Int, reconnection size: String?
            ) async throws -> Peer {
                let reconnection = continues ? size.map { ["--reconnection", $0] } ?? [] : []
                return try Peer(
                    program, try await arguments(live) + reconnection, in: nil, of: live.platform.workspace,
                    seconds: seconds, extraTime: HLSPlayerTests.extraTime, hears: true)
            }
        }

        /// The programs, which need little processor time.
        static let programs = ThisMachine.hlsPlayers.map { name in
            // GStreamer 1.22 requests the files of gaps, and stops at the discontinuity after them.
            Player(name, "play_hls.py", continues: name != "gstreamer") { ["--player", name, "--url", $0.playlist] }
        }

        /// The watch page in the browsers.
        static let pages = ThisMachine.browsers.map { browser in
            Player("the watch page in \(browser)", "watch_hls.py") { live in
                [
                    "--url", "\(live.platform.uri)/watch/\(live.stream)", "--browser", browser, "--token",
                    try await live.platform.viewingToken(live.stream),
                ]
            }
        }

        /// hls.js in a browser.
        static let library: [Player] = {
            guard ThisMachine.hasChromium, let script = ThisMachine.hlsJS else { return [] }
            // hls.js 1.6 requests the parts after a gap with the initialization segment from before it.
            return [
                Player("hls.js", "play_hlsjs.py", followsSize: false) { ["--url", $0.playlist, "--script", script] }
            ]
        }()

        /// The players that play at the same time. The size changes for all players of a group, or for none.
        static let groups = [programs + pages, library].filter { !$0.isEmpty }

        @Test(
            "players play a stream at the same time without a stall, also after its publisher reconnected with another size",
            arguments: groups)
        func reconnection(players: [Player]) async throws {
            try await TestWorkspace.run { workspace in
                var live = try await HLSTests.Live.start(in: workspace, size: Self.sizes.0)
                // Players start three segments before the end.
                try await live.publisher.awaitStatistics(6)
                try await live.awaitPlaylist()
                let observer = try workspace.start(
                    BuiltProgram.path("pcast-bench"),
                    ["hls-rules", live.playlist, "--seconds", "\(Self.watching + 600)", "--json"],
                    limit: .longestSuite)
                let own = try workspace.pcast("play", live.playlist, "--render", "null", limit: .longestSuite)
                var running: [(player: Player, peer: Peer)] = []
                let size = players.allSatisfy(\.followsSize) ? Self.sizes.1 : Self.sizes.0
                for player in players {
                    running.append((player, try await player.start(live, seconds: Self.watching, reconnection: size)))
                }
                for (player, peer) in running where player.continues {
                    let isReady = await peer.program.output.lines.first(
                        within: .seconds(Self.watching) + .longestRun, where: { $0 == "ready for a reconnection" })
                    // A player that failed has ended, and its figures say why.
                    if isReady == nil { Issue.record("\(player.testDescription) is not ready\n\(peer.program.report)") }
                }
                // The others may start later than those, and must have ended before the gap.
                for (player, peer) in running where !player.continues { _ = try await peer.figures() }
                try await Self.awaitPlayback(of: own, seconds: Self.watching)
                try await live.reconnect(size: size)
                for (player, peer) in running where player.continues && peer.program.isRunning {
                    try peer.program.notify("reconnected")
                }
                for (player, peer) in running {
                    let figures = try await peer.figures()
                    print("\(player.testDescription): \(figures["played"]) s, latency \(figures["latency"])")
                }
                if size != Self.sizes.0 { _ = try await own.event("dimensions") { $0["height"].number == 180 } }
                let count = own.events("position").count
                _ = try await own.event("position") { _ in own.events("position").count > count + 3 }
                // The stream ends, and the playlists with it.
                live.publisher.send(SIGINT)
                #expect(try await own.exitStatus() == 0)
                try await observer.expectRules()
                #expect(observer.events("result").first?["versions"].number ?? 0 > Double(Self.watching))
                try await live.platform.program.end()
            }
        }

        /// The players of encrypted media, which play at the same time. GStreamer 1.22 does not play them, and hls.js 1.6 often
        /// stalls in their first second.
        private static let decrypting = programs.filter { $0.testDescription != "gstreamer" } + pages

        @Test("players play encrypted media, whose keys change, without a stall, and the playlists follow the rules")
        func encryption() async throws {
            try await TestWorkspace.run { workspace in
                let live = try await HLSTests.Live.start(
                    in: workspace, ["--hls-encryption", "2"], size: Self.sizes.0)
                try await live.awaitPlaylist()
                let observer = try workspace.start(
                    BuiltProgram.path("pcast-bench"),
                    ["hls-rules", live.playlist, "--seconds", "\(Self.decryption + 600)", "--json"],
                    limit: .longestSuite)
                let own = try workspace.pcast("play", live.playlist, "--render", "null", limit: .longestSuite)
                var running: [(player: Player, peer: Peer)] = []
                for player in Self.decrypting {
                    running.append((player, try await player.start(live, seconds: Self.decryption, reconnection: nil)))
                }
                for (player, peer) in running {
                    print("\(player.testDescription), encrypted: \(try await peer.figures()["played"]) s")
                }
                try await Self.awaitPlayback(of: own, seconds: Self.decryption)
                live.publisher.send(SIGINT)
                #expect(try await own.exitStatus() == 0)
                try await observer.expectRules()
                try await live.platform.program.end()
            }
        }

        /// hls.js 1.6 takes each part for 50 ms of loading at least, so the estimate of a link is at most four times the bit
        /// rate of a layer with parts of 200 ms. It compares 70 % of it with the bit rate of the next layer by default.
        private static let configuration = #"{"abrBandWidthUpFactor": 1}"#

        /// Waits until this project's player has played without a stall for a number of seconds. A busy machine may have
        /// caused stalls before.
        private static func awaitPlayback(of player: RunningProgram, seconds: Int) async throws {
            _ = try await player.event("position", within: .seconds(seconds) + .timeout) { _ in
                longestPlayback(of: player) >= seconds
            }
            #expect(player.events("error").isEmpty)
        }

        /// The largest number of positions, one for each second of media, that a player has reported without a stall between
        /// them.
        private static func longestPlayback(of player: RunningProgram) -> Int {
            var (count, longest) = (0, 0)
            for event in player.output.lines.values.compactMap(JSON.init(line:)) {
                if event["event"].text == "position" {
                    count += 1
                    longest = max(longest, count)
                } else if event["event"].text == "state", event["buffering"] == .bool(true) {
                    count = 0
                }
            }
            return longest
        }

        /// The conditions of a link, each of which carries the next lower layer, and at last all of them.
        private static let steps = ["down rate=1000k", "down rate=480k", "down rate=none"]

        @Test(
            "when the link is narrowed, hls.js and this project's player change to each lower layer, and back afterwards",
            .enabled(if: ThisMachine.hasChromium && ThisMachine.hlsJS != nil))
        func layers() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace, limit: .longestSuite)
                // The layers have about 1.2, 0.6 and 0.3 Mbit/s with audio.
                let live = try await HLSTests.Live.start(at: platform, size: "960x544", layers: 3)
                try await live.awaitPlaylist()
                // Each player has a link for itself.
                async let ours: Void = Self.narrowOwnPlayer(live)
                try await Self.narrowLibrary(live)
                try await ours
                try await live.end()
            }
        }

        private static func narrowOwnPlayer(_ live: HLSTests.Live) async throws {
            let network = try await ImpairedPlatform.link(to: live.platform, steps: steps)
            let player = try live.platform.workspace.pcast(
                "play", network.impaired(live.playlist), "--render", "null", limit: .longestSuite)
            try await player.shows(544)
            for height in [272, 136, 544] {
                try await network.step()
                try await player.shows(height)
            }
            #expect(player.events("error").isEmpty)
            player.send(SIGINT)
            try await player.expectExitStatus(0)
        }

        private static func narrowLibrary(_ live: HLSTests.Live) async throws {
            let network = try await ImpairedPlatform.link(to: live.platform, steps: steps)
            let peer = try Peer(
                "play_hlsjs.py",
                [
                    "--url", network.impaired(live.playlist), "--script", try #require(ThisMachine.hlsJS), "--layers",
                    "--configuration", configuration,
                ], in: nil, of: live.platform.workspace, seconds: 600, extraTime: extraTime)
            for layer in ["best", "middle", "lowest"] {
                try await peer.says("\(layer) layer")
                try await network.step()
            }
            let figures = try await peer.figures()
            print("hls.js has shown the layers with \(figures["heights"]) rows")
        }
    }
}

extension RunningProgram {
    /// Waits until the video of a player has a height.
    fileprivate func shows(_ height: Int) async throws {
        // A player tries a higher layer at times only.
        _ = try await event("dimensions", within: .seconds(240)) { [self] _ in
            events("dimensions").last?["height"].number == Double(height)
        }
    }
}

extension Peer {
    /// Waits for a line that the program prints.
    fileprivate func says(_ line: String) async throws {
        guard await program.output.lines.first(within: .longestRun, where: { $0 == line }) != nil else {
            throw EndToEndFailure("\(program.name) does not say “\(line)”\n\(program.report)")
        }
    }
}
