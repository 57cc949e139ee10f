public import Logging

/// Whether the SDK logs, at which level, and to which handler (the configuration of ``PCast/configureLogging(_:)``). No
/// line contains a token or a key.
public struct LoggingConfiguration: Sendable {
    /// Whether the handler receives log events.
    public var isEnabled: Bool
    /// The lowest level that the handler receives.
    public var level: Logger.Level
    /// Makes the handler, once for each ``PCast``.
    public var makeHandler: @Sendable (_ label: String) -> any LogHandler

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - isEnabled: Whether the handler receives log events.
    ///   - level: The lowest level that it receives.
    ///   - handler: A function that makes the handler; nil for the handler of `LoggingSystem.bootstrap`, which is
    ///     standard output unless the program has set another.
    public init(
        isEnabled: Bool = true, level: Logger.Level = .info,
        handler: (@Sendable (_ label: String) -> any LogHandler)? = nil
    ) {
        self.isEnabled = isEnabled
        self.level = level
        makeHandler = handler ?? { Logger(label: $0).handler }
    }

    /// The configuration without a handler. ``PCast/collectLogMessages()`` still returns lines.
    public static let off = LoggingConfiguration(isEnabled: false)
}

// MARK: Logs
extension PCast {
    /// Returns the newest thousand lines of this client's log, the oldest first.
    ///
    /// Each line has its time in UTC. The lines contain no tokens and no keys. They are kept whether logging is
    /// configured or not, and are available in every state.
    public func collectLogMessages() -> String { log.lines.map { $0 + "\n" }.joined() }
}
