import Logging
import PCastCore
import PCastIO
import PCastWeb
import Synchronization

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

    /// Returns the current time in UTC, by ISO 8601 with milliseconds.
    private static func timestamp() -> String { Timestamp.text(MonotonicClock.wallTime()) }
}

/// The newest lines of a log. When the ring is full, a new line replaces the oldest one.
final class LogRing: Sendable {
    private struct State {
        var lines: [String] = []
        /// The index of the oldest line, once the ring is full.
        var oldest = 0
    }

    private let capacity: Int
    private let lineLimit: Int
    private let state = Mutex(State())

    /// Creates an empty ring.
    ///
    /// - Parameters:
    ///   - capacity: The number of lines; at least 1.
    ///   - lineLimit: The maximum length of a line in characters; longer lines are truncated.
    init(capacity: Int = 1_000, lineLimit: Int = 500) {
        precondition(capacity > 0 && lineLimit > 0, "the capacity and the line limit must be positive")
        self.capacity = capacity
        self.lineLimit = lineLimit
    }

    /// Adds a line.
    func add(_ line: String) {
        let line = line.count > lineLimit ? line.prefix(lineLimit - 1) + "…" : line
        state.withLock { state in
            if state.lines.count < capacity {
                state.lines.append(line)
            } else {
                state.lines[state.oldest] = line
                state.oldest = (state.oldest + 1) % capacity
            }
        }
    }

    /// The lines, the oldest first.
    var lines: [String] {
        state.withLock { Array($0.lines[$0.oldest...] + $0.lines[..<$0.oldest]) }
    }
}

/// Removes tokens and keys from a log line. A secret begins after a known mark and ends at the next space, quote or
/// separator.
enum SecretRedaction {
    /// The marks in lower case, which are compared without regard to case.
    private static let prefixes: [[UInt8]] = [
        "digest:", "digest%3a", "bearer ", "basic ", "token=", "token:", "secret=", "password=", "credential=",
        "ice-pwd:",
    ].map { Array($0.utf8) }

    private static let separators = Set(" \t\r\n&\"'<>(),;[]{}".utf8)
    private static let replacement = Array("…".utf8)

    /// Returns the text with each secret replaced by an ellipsis.
    static func redact(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard let prefix = prefixes.first(where: { begins($0, in: bytes, at: index) }) else {
                result.append(bytes[index])
                index += 1
                continue
            }
            result += bytes[index..<index + prefix.count]
            index += prefix.count
            // Spaces may separate a mark from its secret.
            while index < bytes.count, bytes[index] == UInt8(ascii: " ") {
                result.append(bytes[index])
                index += 1
            }
            let end = bytes[index...].firstIndex(where: separators.contains) ?? bytes.endIndex
            if end > index { result += replacement }
            index = end
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns whether the mark is at the index.
    private static func begins(_ prefix: [UInt8], in bytes: [UInt8], at index: Int) -> Bool {
        guard bytes.count - index >= prefix.count else { return false }
        return prefix.indices.allSatisfy { lower(bytes[index + $0]) == prefix[$0] }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
