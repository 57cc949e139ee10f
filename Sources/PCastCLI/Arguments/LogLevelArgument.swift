import ArgumentParser
import Logging

/// A log level: `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
struct LogLevelArgument: ExpressibleByArgument {
    let level: Logger.Level

    init?(argument: String) {
        guard let level = Logger.Level(rawValue: argument.lowercased()) else { return nil }
        self.level = level
    }
}
