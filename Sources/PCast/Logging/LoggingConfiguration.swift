public import Logging

/// Whether the SDK logs, from which level on, and where to (seed 004, `configureLogging`). No line holds a token or a
/// key.
public struct LoggingConfiguration: Sendable {
    public var isEnabled: Bool
    /// The least that is told.
    public var level: Logger.Level
    /// Makes what takes the lines, once for each ``PCast``.
    public var makeHandler: @Sendable (_ label: String) -> any LogHandler

    /// - Parameter handler: what takes the lines; nil for what the program has given to `LoggingSystem.bootstrap`, and
    ///   where it has given nothing, standard output.
    public init(
        isEnabled: Bool = true, level: Logger.Level = .info,
        handler: (@Sendable (_ label: String) -> any LogHandler)? = nil
    ) {
        self.isEnabled = isEnabled
        self.level = level
        makeHandler = handler ?? { Logger(label: $0).handler }
    }

    /// Nothing is told. What ``PCast/collectLogMessages(_:)`` answers is kept all the same.
    public static let off = LoggingConfiguration(isEnabled: false)
}
