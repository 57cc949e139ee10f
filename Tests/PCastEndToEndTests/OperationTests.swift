import Foundation
import Testing

extension EndToEnd {
    /// A running platform that is reconfigured, flooded and ended.
    @Suite("Operation")
    struct OperationTests {
        /// A platform with a configuration file, a publisher and a viewer.
        private struct Broadcast {
            let platform: LocalPlatform
            let publisher: RunningProgram
            let viewer: RunningProgram
            let file: String

            static func start(in workspace: TestWorkspace, _ lines: [String] = []) async throws -> Broadcast {
                let file = workspace.path("pcast.yaml")
                try write(lines, to: file)
                let program = try workspace.pcast("serve", "--config", file)
                let platform = try await LocalPlatform(program, in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic")
                _ = try await publisher.event("publishing")
                let broadcast = Broadcast(
                    platform: platform, publisher: publisher,
                    viewer: try await watch(platform, try await platform.stream()), file: file)
                _ = try await broadcast.viewer.event("firstFrame")
                return broadcast
            }

            static func watch(_ platform: LocalPlatform, _ stream: String) async throws -> RunningProgram {
                try platform.workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.viewingToken(stream))
            }

            func anotherViewer() async throws -> RunningProgram {
                let stream = try #require(publisher.events("publishing").first?["streamId"].text)
                return try await Self.watch(platform, stream)
            }

            static func write(_ lines: [String], to file: String) throws {
                let always = [
                    "listen: 127.0.0.1:0", "rtcPort: 0", "application: \(LocalPlatform.application)",
                ]
                let keys = Set(lines.map { $0.prefix { $0 != ":" } })
                let rest = always.filter { line in !keys.contains(line.prefix { $0 != ":" }) }
                let all = ["serve:"] + (rest + lines).map { "  " + $0 }
                try all.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            }

            /// Waits for frames in the second after the current one.
            func awaitFrames() async throws {
                var known = Set(viewer.events("stats").compactMap { $0["time"].text })
                for _ in 0..<2 {
                    let next = try await viewer.event("stats") { [known] event in
                        !known.contains(event["time"].text ?? "") && event["bitrate"].number ?? 0 > 50_000
                    }
                    known.insert(next["time"].text ?? "")
                }
                #expect(viewer.isRunning && publisher.isRunning)
            }

            /// Returns the status for a new viewer: 503 without capacity, and 400 with capacity, because the offer is
            /// invalid.
            func knock() async throws -> String? {
                try await ask(
                    "POST", "/whep", "--type", "application/sdp", "--body",
                    "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n")
            }

            /// Returns the status of a response.
            func ask(_ method: String, _ path: String, _ arguments: String...) async throws -> String? {
                let all = [method, platform.uri + path] + arguments
                return try await platform.workspace.run("\(BuiltProgram.peers)/ask.py", all).output.first
            }

            func end() async throws {
                viewer.send(SIGINT)
                publisher.send(SIGINT)
                try await viewer.expectExitStatus(0)
                try await publisher.expectExitStatus(0)
            }
        }

        @Test(
            "the configuration is reloaded when its file changes and on SIGHUP, without disconnections",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func reload() async throws {
            try await TestWorkspace.run { workspace in
                let broadcast = try await Broadcast.start(in: workspace)
                let program = broadcast.platform.program
                // The file changes without a signal.
                try Broadcast.write(["limit: viewers=1", "rtcPort: 4711"], to: broadcast.file)
                let first = try await program.event("reloaded")
                #expect(first["changed"].list.compactMap(\.text) == ["limit"])
                #expect(first["needRestart"].list.compactMap(\.text) == ["rtc-port"])
                _ = try await program.message(containing: "after a restart: rtc-port")
                #expect(try await broadcast.knock() == "503")
                try await broadcast.awaitFrames()

                // The file contains a mistake.
                try Broadcast.write(["limits: viewers=100"], to: broadcast.file)
                let failed = try await program.event("reloadFailed")["reason"].text ?? ""
                #expect(failed.contains("line 5") && failed.contains("did you mean “limit”?"))
                #expect(try await broadcast.knock() == "503")

                // The mistake is corrected, and the log level changes as well.
                try Broadcast.write(["limit: viewers=5", "logLevel: debug"], to: broadcast.file)
                program.send(SIGHUP)
                _ = try await program.event("reloaded") { event in
                    event["needRestart"].list.isEmpty && event["changed"].list.compactMap(\.text) == ["limit"]
                }
                #expect(try await broadcast.knock() == "400")
                let welcome = try await broadcast.anotherViewer()
                _ = try await welcome.event("firstFrame")
                _ = try await program.message(containing: " debug platform: secure transport connected")
                welcome.send(SIGINT)
                try await welcome.expectExitStatus(0)
                try await broadcast.awaitFrames()
                #expect(broadcast.viewer.events("subscribed").count == 1)
                try await broadcast.end()
            }
        }

        @Test(
            "on SIGTERM all clients receive maintenance, and the status is 0", .timeLimit(.minutes(5))
        )
        func termination() async throws {
            try await TestWorkspace.run { workspace in
                let broadcast = try await Broadcast.start(in: workspace)
                broadcast.platform.program.send(SIGTERM)
                for program in [broadcast.viewer, broadcast.publisher] {
                    let ended = try await program.event("ended")
                    #expect(ended["reason"].text == "maintenance")
                    try await program.expectExitStatus(7)
                }
                try await broadcast.platform.program.expectExitStatus(0)
            }
        }

        @Test(
            "a silent backend delays the end by at most the drain time, and a second signal ends it at once",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func boundedEnd() async throws {
            for isAskedTwice in [false, true] {
                try await TestWorkspace.run { workspace in
                    let silent = try workspace.start(
                        "\(BuiltProgram.peers)/silent.py", [])
                    let port = try #require(await silent.output.lines.first())
                    let broadcast = try await Broadcast.start(
                        in: workspace,
                        ["webhookAllow: 127.0.0.1", "drainTime: \(isAskedTwice ? "600s" : "3s")"])
                    let path = "/pcast/application/studio/callback"
                    let callback = #"{"callback":{"host":"127.0.0.1","port":\#(port),"path":"/"}}"#
                    let user = LocalPlatform.application
                    #expect(try await broadcast.ask("PUT", path, "--user", user, "--body", callback) == "200")
                    let program = broadcast.platform.program
                    program.send(SIGTERM)
                    _ = try await broadcast.viewer.event("ended")
                    if isAskedTwice {
                        #expect(program.isRunning)
                        // A signal directly after the first counts as its repetition, because a shell and a program
                        // between them forward the same signal.
                        var status: Int32?
                        for _ in 0..<60 where status == nil {
                            program.send(SIGTERM)
                            status = try? await program.exitStatus(within: .seconds(1))
                        }
                        #expect(status == 128 + SIGTERM)
                    } else {
                        try await program.expectExitStatus(0)
                    }
                }
            }
        }

        @Test(
            "a flood from one address is rejected early, receives no more bytes than it sends, and hurts no one",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func flood() async throws {
            try await TestWorkspace.run { workspace in
                let broadcast = try await Broadcast.start(
                    in: workspace,
                    [
                        "limit:", "  connections-per-address: 80", "  connections-per-second: 100",
                        "  requests-per-second: 20",
                    ])
                let platform = broadcast.platform
                let rtcPort = try #require(platform.program.events("listening").first?["rtcPort"].number)
                let seconds = ThisMachine.isFull ? 30 : 3
                let flood = try workspace.start(
                    "\(BuiltProgram.peers)/flood.py",
                    [
                        "--address", String(platform.uri.dropFirst("http://".count)), "--rtc-port", "\(Int(rtcPort))",
                        "--seconds", "\(seconds)", "--least", "150",
                    ])
                // A viewer joins during the flood.
                let welcome = try await broadcast.anotherViewer()
                _ = try await welcome.event("firstFrame")
                try await broadcast.awaitFrames()
                try await flood.expectExitStatus(0)
                let figures = try #require(flood.output.lines.values.last.flatMap(JSON.init(line:)))
                print("flood: \(flood.output.lines.values.last ?? "")")
                #expect(figures["refusedConnections"].number ?? 0 > 100)
                #expect(figures["datagrams"].number ?? 0 > 100)
                // Without a successful check not one byte is answered.
                #expect(figures["answeredBytes"] == .number(0))
                #expect(broadcast.viewer.events("subscribed").count == 1 && platform.program.isRunning)
                welcome.send(SIGINT)
                try await welcome.expectExitStatus(0)
                try await broadcast.end()
            }
        }

        @Test(
            "a process without descriptors keeps its clients, and admits others when descriptors are available again",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func descriptors() async throws {
            try await TestWorkspace.run { workspace in
                let program = try workspace.start(
                    try #require(BuiltProgram.installed("prlimit")),
                    [
                        "--nofile=200", BuiltProgram.path("pcast"), "serve", "--listen", "127.0.0.1:0", "--rtc-port",
                        "0", "--application", LocalPlatform.application, "--json",
                    ])
                let platform = try await LocalPlatform(program, in: workspace)
                let flood = try workspace.start(
                    "\(BuiltProgram.peers)/flood.py",
                    [
                        "--address", String(platform.uri.dropFirst("http://".count)), "--rtc-port", "9", "--seconds",
                        ThisMachine.isFull ? "5" : "2",
                    ])
                try await flood.expectExitStatus(0)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), "--video", "synthetic", "--audio", "null")
                _ = try await publisher.event("publishing")
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                #expect(program.isRunning)
            }
        }
    }
}
