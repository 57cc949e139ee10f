import Foundation
import Logging
import PCastWeb

/// Brings what the libraries log to the console, where it does not break the status block. From which
/// level on, the console's threshold says.
struct ConsoleLogHandler: LogHandler {
    private let label: String
    private let console: Console
    private let silence: Signpost
    var metadata: Logger.Metadata = [:]
    /// A logger's own.
    private var ownLevel: Logger.Level?

    /// - Parameter silence: raised when what follows is only that everything ends.
    init(label: String, console: Console, silence: Signpost) {
        self.label = label
        self.console = console
        self.silence = silence
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? console.threshold.level }
        set { ownLevel = newValue }
    }

    static func logger(_ label: String, on console: Console, until silence: Signpost) -> Logger {
        Logger(label: label) { ConsoleLogHandler(label: $0, console: console, silence: silence) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// One line, whatever was written into it by others.
    static func line(_ text: String) -> String { text.escapingControlCharacters }

    func log(event: LogEvent) {
        guard !silence.isRaised else { return }
        let all = metadata.merging(event.metadata ?? [:]) { _, own in own }
        let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        console.say(Self.line("\(SystemClock.now().timestampText) \(event.level) \(label): \(event.message)\(details)"))
    }
}
