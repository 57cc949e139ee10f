import Logging

/// The amount of output of a command: `--verbose`, `--quiet` and `--log-level`.
struct Verbosity: Equatable {
    /// The minimum level of log messages; nil for that of `PCAST_LOG_LEVEL`, otherwise `warning`.
    let level: Logger.Level?
    /// Whether messages about the progress are left out. Results, warnings and errors are always written.
    let isQuiet: Bool

    /// Creates the value for options. An explicit level has precedence over that of the two flags.
    ///
    /// - Parameter verbose: The number of flags `-v`: 1 is the level `info`, 2 `debug`, and 3 or more `trace`.
    init(level: Logger.Level?, verbose: Int, isQuiet: Bool) {
        let ofFlags: Logger.Level? =
            switch verbose {
            case ...0: isQuiet ? .error : nil
            case 1: .info
            case 2: .debug
            default: .trace
            }
        (self.level, self.isQuiet) = (level ?? ofFlags, isQuiet)
    }
}
