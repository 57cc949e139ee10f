import ArgumentParser
import Logging
import PCastCore
import Testing

@testable import PCastCLI

struct VerbosityTests {
    private func options(_ arguments: String...) throws -> OutputOptions { try OutputOptions.parse(arguments) }

    @Test("each -v lowers the log level, --quiet raises it, and --log-level has precedence over both")
    func flags() throws {
        let expected: [([String], Logger.Level?, Bool)] = [
            ([], nil, false), (["-v"], .info, false), (["-vv"], .debug, false),
            (["-v", "--verbose", "-v"], .trace, false),
            (["--quiet"], .error, true), (["-q", "--log-level", "debug"], .debug, true),
            (["-vv", "--log-level", "WARNING"], .warning, false),
        ]
        for (arguments, level, isQuiet) in expected {
            let verbosity = try OutputOptions.parse(arguments).verbosity
            #expect(verbosity.level == level && verbosity.isQuiet == isQuiet, "\(arguments)")
        }
    }

    @Test("--quiet with --verbose, and an unknown level, are errors")
    func invalid() {
        for arguments in [["-q", "-v"], ["--log-level", "loud"], ["--log-level"]] {
            #expect(throws: (any Error).self) { try OutputOptions.parse(arguments) }
        }
    }

    @Test("the command line replaces the settings of the environment and the configuration file")
    func precedence() throws {
        let file = try ConfigurationFile(text: "[serve]\nverbose = 2\n", path: "pcast.conf")
        func settings(_ environment: [String: String]) -> Settings {
            Settings(command: "serve", environment: environment, file: file)
        }
        #expect(try options().verbosity(settings([:])).level == .debug)
        #expect(try options().verbosity(settings(["PCAST_SERVE_LOG_LEVEL": "error"])).level == .error)
        #expect(try options().verbosity(settings(["PCAST_SERVE_QUIET": "true", "PCAST_SERVE_VERBOSE": "0"])).isQuiet)
        #expect(try options("-v").verbosity(settings(["PCAST_SERVE_LOG_LEVEL": "error"])).level == .info)
        #expect(try !options("-v").verbosity(settings(["PCAST_SERVE_QUIET": "true"])).isQuiet)
        #expect(throws: CommandFailure.self) {
            try options().verbosity(settings(["PCAST_SERVE_LOG_LEVEL": "loud"]))
        }
    }

    @Test("a log line stays one line, whatever its text contains")
    func escaping() {
        let line = ConsoleLogHandler.line("stream=a\nforged \u{1B}[31m\u{7}\u{9B}2J\u{202E}")
        #expect(line == #"stream=a\nforged \u{1B}[31m\u{7}\u{9B}2J\u{202E}"#)
    }
}
