import ArgumentParser
import Logging

/// The options of all commands: the form and the amount of their output.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line to standard output; messages and logs go to standard error.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log more: -v from level info, -vv from debug, -vvv from trace.")
    var verbose: Int

    @Flag(name: .shortAndLong, help: "Print only results, warnings and errors, and log from level error.")
    var quiet = false

    @Option(
        help: ArgumentHelp(
            "Log from this level: trace, debug, info, notice, warning, error or critical. (default: warning)",
            valueName: "level"))
    var logLevel: LogLevelArgument?

    func validate() throws {
        if quiet, verbose > 0 { throw ValidationError("--quiet and --verbose exclude each other: give one of them.") }
    }

    /// The amount of output that the command line requests.
    var verbosity: Verbosity { Verbosity(level: logLevel?.level, verbose: verbose, isQuiet: quiet) }

    /// Returns the amount of output for a command with settings. The options of the command line replace those of the
    /// environment and the configuration file, because one of them may contradict another.
    ///
    /// - Throws: ``CommandFailure`` if a setting is invalid.
    func verbosity(_ settings: Settings) throws -> Verbosity {
        if quiet || verbose > 0 || logLevel != nil { return verbosity }
        return Verbosity(
            level: try settings.value("log-level", logLevel)?.level,
            verbose: try settings.value("verbose", Int?.none) ?? 0, isQuiet: try settings.flag("quiet", false))
    }
}

/// A log level: `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
struct LogLevelArgument: ExpressibleByArgument {
    let level: Logger.Level

    init?(argument: String) {
        guard let level = Logger.Level(rawValue: argument.lowercased()) else { return nil }
        self.level = level
    }
}
