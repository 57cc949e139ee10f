import Foundation
import Testing

extension EndToEnd {
    @Suite("Amount of output")
    struct VerbosityTests {
        private static let publish = [
            "publish", "--listen", "127.0.0.1:0", "--video", "synthetic", "--audio", "null", "--for", "1s",
        ]

        /// Runs a publisher with the default log level, and returns its messages and log lines.
        private func messages(_ options: [String], _ variables: [String: String] = [:]) async throws -> [String] {
            var lines: [String] = []
            try await TestWorkspace.run { workspace in
                let program = try workspace.start(
                    BuiltProgram.path("pcast"), Self.publish + options,
                    variables: ["PCAST_LOG_LEVEL": "warning"].merging(variables) { $1 })
                try await program.expectExitStatus(0)
                lines = program.messages.lines.values
            }
            return lines
        }

        @Test("--verbose and --log-level add log lines, and the command line has precedence over the environment")
        func levels() async throws {
            let plain = try await messages([])
            #expect(plain.contains { $0.hasPrefix("Publishing. Watch at ") })
            #expect(!plain.contains { $0.contains(" info client: ") || $0.contains(" debug platform: ") })
            for options in [["-v"], ["--log-level", "info"]] {
                let lines = try await messages(options, ["PCAST_PUBLISH_LOG_LEVEL": "error"])
                #expect(lines.contains { $0.contains(" info client: ") }, "\(options)")
                #expect(!lines.contains { $0.contains(" debug platform: ") }, "\(options)")
            }
            for (options, variables) in [(["-vv"], [:]), ([], ["PCAST_PUBLISH_VERBOSE": "2"])] {
                let lines = try await messages(options, variables)
                #expect(lines.contains { $0.contains(" debug platform: ") }, "\(options)")
            }
        }

        @Test("--quiet leaves out the messages, and --log-level decides about the log lines")
        func quiet() async throws {
            #expect(try await messages(["--quiet"]) == [])
            let logged = try await messages(["-q", "--log-level", "info"])
            #expect(logged.contains { $0.contains(" info client: ") })
            #expect(!logged.contains { $0.contains("Watch at") })
        }

        @Test("a name with control characters neither begins a line of a log nor controls the terminal")
        func hostileNames() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let name = "evil\u{1B}[2J\u{9B}31m\nforged error platform: all data is lost\r\u{202E}"
                let create = [
                    "token", "create", "--application", LocalPlatform.application, "--expires-in", "1h", "--type",
                    "publish", "--capability", name,
                ]
                let token = try #require(try await workspace.run(BuiltProgram.path("pcast"), create).output.first)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", token, "--video", "synthetic", "--audio", "null")
                _ = try await publisher.event("publishing")
                for program in [platform.program, publisher] {
                    let line = try await program.message(containing: "capabilities without effect")
                    #expect(line.contains("=evil?[2J?31m?forged?error?platform:?all?data?is?lost?? "))
                    for line in program.messages.lines.values {
                        #expect(!line.hasPrefix("forged"))
                        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{1B}" && $0 != "\u{9B}" })
                    }
                }
                publisher.send(SIGINT)
                try await platform.program.end()
            }
        }
    }
}
