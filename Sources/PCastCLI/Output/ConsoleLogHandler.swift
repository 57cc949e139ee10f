import Foundation
import Logging
import PCastWeb

/// A log handler that writes to the console above the status block. The console's threshold is the minimum level.
struct ConsoleLogHandler: LogHandler {
    private let label: String
    private let console: Console
    private let silence: AtomicFlag
    var metadata: Logger.Metadata = [:]
    /// The level of this logger, if one was set.
    private var ownLevel: Logger.Level?

    /// Creates a handler. `silence` is raised to suppress messages while everything stops.
    init(label: String, console: Console, silence: AtomicFlag) {
        self.label = label
        self.console = console
        self.silence = silence
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? console.threshold.level }
        set { ownLevel = newValue }
    }

    static func logger(_ label: String, on console: Console, until silence: AtomicFlag) -> Logger {
        Logger(label: label) { ConsoleLogHandler(label: $0, console: console, silence: silence) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Returns the text on one line with control characters escaped.
    static func line(_ text: String) -> String { text.escapingControlCharacters }

    func log(event: LogEvent) {
        guard !silence.isRaised else { return }
        let all = metadata.merging(event.metadata ?? [:]) { _, own in own }
        let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        console.warn(
            Self.line("\(SystemClock.now().timestampText) \(event.level) \(label): \(event.message)\(details)"))
    }
}
