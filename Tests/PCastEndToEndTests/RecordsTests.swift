import Foundation
import Testing

extension EndToEnd {
    /// The platform's persistent data, and the notifications of backends about it.
    @Suite("Records")
    struct RecordsTests {
        private static let credentials = "Basic " + Data(LocalPlatform.application.utf8).base64EncodedString()

        @Test(
            "a platform that is killed at any moment loses no notification, and keeps their order",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(60)))
        func killRounds() async throws {
            try await TestWorkspace.run { workspace in
                let rounds = ThisMachine.isFull ? 100 : 10
                let seconds = 300 + rounds * 30
                // The streams of the last killed platform end after this time.
                let grace = ThisMachine.isFull ? [] : ["--grace", "2s"]
                let program = try workspace.start(
                    "\(BuiltProgram.peers)/kill_rounds.py",
                    [
                        "--program", try BuiltProgram.path("pcast"), "--data", workspace.path("data"), "--rounds",
                        "\(rounds)",
                        "--seconds", "\(seconds)",
                    ] + grace, limit: .longestSuite)
                let status = try await program.exitStatus(within: .longestSuite)
                let figures = program.output.lines.values.last ?? ""
                print("kill rounds: \(figures)")
                if status != 0 { throw EndToEndFailure("the rounds failed: \(figures)\n\(program.report)") }
            }
        }

        @Test(
            "the management API matches its description according to schemathesis",
            .enabled(if: ThisMachine.schemathesis != nil), .timeLimit(.minutes(20)))
        func description() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace, limit: .longestSuite)
                let examples = ThisMachine.isFull ? "100" : "15"
                // The application in the path is the authenticated one, so that more than the rejection of others is
                // tested.
                let configuration = workspace.path("schemathesis.toml")
                try #"[parameters]\#n"path.application" = "studio"\#n"#.write(
                    toFile: configuration, atomically: true, encoding: .utf8)
                let checker = try workspace.start(
                    try #require(ThisMachine.schemathesis),
                    [
                        "--config-file", configuration, "run", "\(platform.uri)/pcast/openapi.json", "--header",
                        "Authorization: \(Self.credentials)",
                        // On loopback timelines require no token. They have their own tests. Random limits and draining
                        // reject later requests. The response with the events of names has no end.
                        "--exclude-path-regex", "^/(timeline/|pcast/limit/|pcast/drain|pcast/names/events)",
                        "--checks", "all",
                        // The tool makes more attempts with wrong credentials than the limit allows, and expects 401
                        // for each.
                        "--exclude-checks", "ignored_auth", "--max-examples", examples, "--seed", "20261121",
                        "--no-color",
                        "--generation-database", "none", "--request-timeout", "60", "--suppress-health-check",
                        "too_slow",
                    ], limit: .longestSuite)
                let status = try await checker.exitStatus(within: .longestSuite)
                #expect(status == 0, "\(checker.output.lines.values.joined(separator: "\n"))")
                #expect(platform.program.isRunning)
            }
        }

        @Test(
            "a platform whose directory was deleted ends at once on request, and notifies everyone",
            .timeLimit(.minutes(5)))
        func deleted() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(
                    in: workspace,
                    ["--data", workspace.path("data"), "--webhook-allow", "127.0.0.1", "--drain-time", "600s"])
                // Nothing listens at that address, so a notification is always pending.
                try await workspace.run(
                    "curl",
                    [
                        "-sf", "-u", LocalPlatform.application, "-X", "PUT", "-H", "Content-Type: application/json",
                        "-d",
                        #"{"callback":{"host":"127.0.0.1","port":9}}"#,
                        "\(platform.uri)/pcast/application/studio/callback",
                    ])
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), "--video", "synthetic", "--size", "320x180")
                _ = try await publisher.event("publishing")
                try FileManager.default.removeItem(atPath: workspace.path("data"))
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.viewingToken(try await platform.stream()))
                _ = try await viewer.event("firstFrame")
                platform.program.send(SIGTERM)
                // This is long before the drain time is over.
                try await platform.program.expectExitStatus(0)
                for client in [publisher, viewer] {
                    #expect(try await client.event("ended")["reason"].text == "maintenance")
                }
            }
        }

        @Test(
            "a full disk at the start is reported in a sentence, and one that fills up later ends no stream",
            .enabled(if: ThisMachine.canMount), .timeLimit(.minutes(5)))
        func fullDisk() async throws {
            try await TestWorkspace.run { workspace in
                let disk = workspace.path("disk")
                try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
                // The disk is mounted in a namespace, so that it is removed with the program.
                let start = { (size: String) throws in
                    try workspace.start(
                        try #require(BuiltProgram.installed("unshare")),
                        [
                            "--mount", "sh", "-c", #"mount -t tmpfs -o "size=$0" tmpfs "$1" && shift && exec "$@""#,
                            size,
                            disk, try BuiltProgram.path("pcast"), "serve", "--json", "--listen", "127.0.0.1:0",
                            "--rtc-port", "0", "--application", LocalPlatform.application, "--data", disk + "/data",
                        ])
                }
                let refused = try start("64k")
                try await refused.expectExitStatus(1)
                #expect(refused.messages.lines.values.contains { $0.contains("the disk is full") })

                let program = try start("8m")
                let platform = try await LocalPlatform(program, in: workspace)
                let filler = "/proc/\(try #require(program.processID))/root\(disk)/filler"
                Self.fill(filler)
                // A new client is admitted nevertheless.
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "null", "--token",
                    try await platform.publishingToken(), "--size", "320x180")
                _ = try await publisher.event("publishing")
                _ = try await program.message(containing: "the database cannot be written")
                _ = try await publisher.event("stats")
                try FileManager.default.removeItem(atPath: filler)
                _ = try await program.message(containing: "the database is writable again")
                #expect(publisher.isRunning && program.isRunning)
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
            }
        }

        /// Writes a file until the disk is full.
        private static func fill(_ path: String) {
            guard let file = fopen(path, "w") else { return }
            let block = [UInt8](repeating: 0x55, count: 4_096)
            while fwrite(block, 1, block.count, file) == block.count, fflush(file) == 0 {}
            fclose(file)
        }
    }
}
