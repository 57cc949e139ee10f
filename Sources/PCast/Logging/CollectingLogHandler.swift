import FoundationEssentials
import Logging
import PCastCore
import PCastIO
import PCastWeb

/// Keeps the log lines of the SDK for ``PCast/collectLogMessages()``, without tokens and keys. It also forwards the
/// events to the application's handler, if there is one.
struct CollectingLogHandler: LogHandler {
    private let ring: LogRing
    private var next: (any LogHandler)?
    /// The lowest level that the application's handler receives.
    private let level: Logger.Level
    private var own: Logger.Metadata = [:]

    /// The lowest level that the ring keeps, whatever the application's level is.
    private static let keptLevel = Logger.Level.debug

    init(_ ring: LogRing, configuration: LoggingConfiguration) {
        self.ring = ring
        level = configuration.level
        next = configuration.isEnabled ? EscapingLogHandler(configuration.makeHandler("pcast")) : nil
        next?.logLevel = configuration.level
    }

    /// The lower one of the ring's and the handler's level. It cannot be set.
    var logLevel: Logger.Level {
        get { min(Self.keptLevel, next == nil ? Self.keptLevel : level) }
        set {}
    }

    var metadata: Logger.Metadata {
        get { own }
        set {
            own = newValue
            next?.metadata = newValue
        }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { own[key] }
        set {
            own[key] = newValue
            next?[metadataKey: key] = newValue
        }
    }

    func log(event: LogEvent) {
        if event.level >= Self.keptLevel {
            let all = own.merging(event.metadata ?? [:]) { _, new in new }
            let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            let line = "\(Self.timestamp()) \(event.level) \(event.message)\(details)"
            ring.add(SecretRedaction.redact(line).escapingControlCharacters)
        }
        if let next, event.level >= level { next.log(event: event) }
    }

    /// Returns the present time in UTC, by ISO 8601 with milliseconds.
    private static func timestamp() -> String {
        let milliseconds = MonotonicClock.wallTime().millisecondsSinceEpoch
        return Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
