import Foundation
import Logging
import Synchronization

/// The minimum level of log messages, which may change while a program runs.
///
/// The default is that of the variable `PCAST_LOG_LEVEL` (`trace`, `debug`, `info`, `notice`, `warning`, `error` or
/// `critical`), otherwise `warning`.
final class LogThreshold: Sendable {
    private static let standard: Logger.Level = {
        let level = ProcessInfo.processInfo.environment["PCAST_LOG_LEVEL"]
        return level.flatMap { Logger.Level(rawValue: $0.lowercased()) } ?? .warning
    }()

    private let current = Mutex(standard)

    var level: Logger.Level { current.withLock { $0 } }

    /// Changes the level. Nil restores the default.
    func change(to level: Logger.Level?) { current.withLock { $0 = level ?? Self.standard } }
}
