import Foundation
import Logging
import Synchronization

/// From which level on is logged; it may change while a program runs.
///
/// By itself warnings and worse, or from the level on that `PCAST_LOG_LEVEL` names (`trace`, `debug`, `info`, `notice`,
/// `warning`, `error`, `critical`).
final class LogThreshold: Sendable {
    private static let standard: Logger.Level = {
        let level = ProcessInfo.processInfo.environment["PCAST_LOG_LEVEL"]
        return level.flatMap { Logger.Level(rawValue: $0.lowercased()) } ?? .warning
    }()

    private let current = Mutex(standard)

    var level: Logger.Level { current.withLock { $0 } }

    /// - Parameter level: nil for that which holds by itself.
    func change(to level: Logger.Level?) { current.withLock { $0 = level ?? Self.standard } }
}
