import Foundation
import PCastIO
import Testing

extension EndToEnd {
    /// `pcast … | head`: the reader of standard output closes it early.
    @Suite("Closed standard output")
    struct ClosedOutputTests {
        /// Returns the end of a pipe that nobody reads.
        private static func unread() throws -> Descriptor { try ProcessPipe().write }

        /// Runs a program whose standard output is closed, optionally with standard error. Returns its exit status and
        /// what it wrote to standard error.
        private static func run(
            _ program: String, _ arguments: [String], of workspace: TestWorkspace, closesMessages: Bool = false
        ) async throws -> (outcome: SpawnedProcess.End?, messages: [String]) {
            var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PCAST_") }
            environment["XDG_RUNTIME_DIR"] = workspace.runtimeDirectory
            environment["PCAST_PUBLISH_NO_RECONNECT"] = "true"
            let (process, messages) = try {
                // The write end is closed here, so that the messages end with the process.
                let (complaints, output) = (try ProcessPipe(), try unread())
                let process = try SpawnedProcess(
                    BuiltProgram.path(program), arguments, environment: environment, folder: workspace.folder.path,
                    isApart: false, input: .null(), output: output, messages: closesMessages ? output : complaints.write
                )
                let file = URL(fileURLWithPath: workspace.path("messages"))
                return (process, ProgramOutput(from: complaints.read, to: file))
            }()
            let ends = Awaited<SpawnedProcess.End>()
            Thread.detachNewThread { ends.add(process.wait()) }
            let outcome = await ends.first()
            if outcome == nil { process.send(SIGKILL) }
            // All that it wrote is read before it is judged.
            _ = await messages.lines.first(within: .seconds(20)) { _ in false }
            return (outcome, messages.lines.values)
        }

        @Test(
            "commands that write and end do so without an error message",
            arguments: [
                ["pcast", "--help"], ["pcast", "--version"], ["pcast", "help", "publish"],
                ["pcast", "--experimental-dump-help"], ["pcast", "--generate-completion-script", "bash"],
                ["pcast", "--generate-completion-script", "zsh"],
                ["pcast", "token", "create", "--application", "a:b", "--expires-in", "1h"],
                ["pcast", "devices"], ["pcast", "devices", "--json", "--capabilities"],
                ["pcast", "devices", "--watch"],
                ["pcast-bench", "--help"], ["pcast-bench", "--experimental-dump-help"],
                ["pcast-bench", "packets", "--help"], ["pcast-bench", "packets", "--json"],
            ], [false, true])
        func ending(_ command: [String], closesMessages: Bool) async throws {
            try await TestWorkspace.run { workspace in
                let (outcome, messages) = try await Self.run(
                    command[0], Array(command.dropFirst()), of: workspace, closesMessages: closesMessages)
                #expect(outcome == .exit(0), "\(command): \(messages)")
                #expect(!messages.contains { $0.contains("Fatal error") || $0.contains("rror:") })
            }
        }

        @Test(
            "the exit status of a command does not depend on its output being read",
            arguments: [
                (["publish", "--nonsense"], 2), (["subscribe", "--for", "soon"], 2),
                (["token", "verify", "DIGEST:eyJhIjoxfQ==", "--secret", "s", "--json"], 3),
                (["streams", "end", "none", "--reason", "ended", "--json"], 4),
            ] as [([String], Int32)], [false, true])
        func refusing(_ command: ([String], Int32), closesMessages: Bool) async throws {
            try await TestWorkspace.run { workspace in
                let (outcome, messages) = try await Self.run(
                    "pcast", command.0, of: workspace, closesMessages: closesMessages)
                #expect(outcome == .exit(command.1), "\(messages)")
            }
        }

        @Test(
            "long-running commands end at the first line that cannot be written, and clean up",
            arguments: [
                ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--application", "a:b", "--json"],
                ["publish", "--listen", "127.0.0.1:0", "--video", "synthetic", "--audio", "synthetic", "--json"],
            ])
        func running(_ arguments: [String]) async throws {
            try await TestWorkspace.run { workspace in
                let (outcome, messages) = try await Self.run("pcast", arguments, of: workspace)
                #expect(outcome == .exit(0), "\(messages)")
                #expect(!messages.contains { $0.contains("Fatal error") })
                #expect(workspace.credentialsFiles.isEmpty)
            }
        }

        @Test("a viewer ends too, and its publisher continues", .timeLimit(.minutes(5)))
        func viewing() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast("publish", "--listen", "127.0.0.1:0")
                let uri = try #require(try await publisher.event("listening")["uri"].text)
                _ = try await publisher.event("publishing")
                let (outcome, messages) = try await Self.run(
                    "pcast", ["subscribe", "--uri", uri, "--json"], of: workspace)
                #expect(outcome == .exit(0), "\(messages)")
                #expect(publisher.isRunning)
            }
        }
    }
}
