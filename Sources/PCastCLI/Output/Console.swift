import Foundation
import Logging
import PCastCore
import PCastIO
import PCastJSON
import PCastWeb
import Synchronization

/// The output of a command: events for programs, messages for users, and the live status block.
///
/// With `--json`, standard output contains only events and messages are written to standard error. Without it, there
/// are no events. With `--quiet`, messages about the progress and the status block are left out.
final class Console: Sendable {
    private struct State {
        var shownLines = 0
        var block: StatusBlock?
        /// The messages that wait while video covers the terminal; nil if it is not covered.
        var held: [String]?
        var isQuiet = false
    }

    /// The maximum number of waiting messages. The oldest are dropped.
    private static let maximumHeld = 100

    /// Whether a status block is drawn, which needs a capable terminal and no `--json`.
    let isLive: Bool
    private let writesEvents: Bool
    /// The minimum level of log messages.
    let threshold = LogThreshold()
    private let state = Mutex(State())

    /// Creates a console.
    ///
    /// - Parameters:
    ///   - options: The options of the command's output.
    ///   - verbosity: The amount of output; nil for that of the options.
    init(_ options: OutputOptions, _ verbosity: Verbosity? = nil) {
        writesEvents = options.json
        let terminal = ProcessInfo.processInfo.environment["TERM"] ?? "dumb"
        isLive = !options.json && isatty(STDOUT_FILENO) == 1 && terminal != "dumb"
        apply(verbosity ?? options.verbosity)
    }

    /// Changes the amount of output.
    func apply(_ verbosity: Verbosity) {
        threshold.change(to: verbosity.level)
        state.withLock { $0.isQuiet = verbosity.isQuiet }
    }

    /// Writes an event, which is one line of JSON. It has no effect without `--json`.
    func event(_ name: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) { event(name, Array(fields)) }

    func event(_ name: String, _ fields: [(key: String, value: JSONValue)]) {
        guard writesEvents else { return }
        let line = EventLine(name: name, time: SystemClock.now(), fields: fields).text
        state.withLock { _ in Self.write(line + "\n", to: STDOUT_FILENO) }
    }

    /// Writes a result to standard output, for users and other programs. It has no effect with `--json`, where an event
    /// contains it.
    func result(_ text: String) {
        guard !writesEvents else { return }
        let text = Self.sentence(text)
        state.withLock { _ in Self.write(text + "\n", to: STDOUT_FILENO) }
    }

    /// Escapes a text for a terminal, because texts of other clients must not control the terminal.
    static func sentence(_ text: String) -> String { text.escapingControlCharacters(keeping: ["\n", "\t"]) }

    /// Writes a message about the progress above the status block. It has no effect with `--quiet`.
    func inform(_ sentence: String) {
        if !state.withLock({ $0.isQuiet }) { warn(sentence) }
    }

    /// Writes a subtitle or a caption like a message about the progress. While video covers the terminal, it is dropped,
    /// because it belongs to a frame that is over when the video ends.
    func subtitle(_ text: String) {
        let isCovered = state.withLock { $0.held != nil } && isatty(isLive ? STDOUT_FILENO : STDERR_FILENO) == 1
        if !isCovered { inform("“\(text)”") }
    }

    /// Writes a warning or a log line above the status block, also with `--quiet`.
    func warn(_ sentence: String) {
        let descriptor = isLive ? STDOUT_FILENO : STDERR_FILENO
        let sentence = Self.sentence(sentence)
        state.withLock { state in
            if state.held != nil, isatty(descriptor) == 1 {
                state.held?.append(sentence)
                if state.held!.count > Self.maximumHeld { state.held?.removeFirst() }
                return
            }
            Self.write(erasure(&state) + sentence + "\n" + drawing(&state), to: descriptor)
        }
    }

    /// Draws the status block in place of the previous one. It has no effect without a terminal.
    func show(_ block: StatusBlock) {
        guard isLive else { return }
        state.withLock { state in
            guard state.held == nil, !state.isQuiet else { return }
            let erasure = erasure(&state)
            state.block = block
            Self.write(erasure + drawing(&state), to: STDOUT_FILENO)
        }
    }

    /// Keeps the current status block on the terminal, so that further output is written below it.
    func finish() {
        state.withLock { state in
            state.block = nil
            state.shownLines = 0
        }
    }

    /// Ends the status block and holds messages until `releaseMessages`, because video covers the terminal.
    func holdMessages() {
        finish()
        state.withLock { $0.held = [] }
    }

    /// Writes the held messages when video no longer covers the terminal. It has no effect without `holdMessages`.
    func releaseMessages() {
        let held = state.withLock { state in
            defer { state.held = nil }
            return state.held
        }
        for sentence in held ?? [] { warn(sentence) }
    }

    /// Returns the control sequence that moves to the first line of the block and clears everything below.
    private func erasure(_ state: inout State) -> String {
        defer { state.shownLines = 0 }
        return state.shownLines > 0 ? "\u{1B}[\(state.shownLines)A\r\u{1B}[J" : ""
    }

    private func drawing(_ state: inout State) -> String {
        guard let block = state.block else { return "" }
        let lines = block.lines(width: Self.terminalWidth)
        state.shownLines = lines.count
        return lines.map { $0.escapingControlCharacters + "\n" }.joined()
    }

    private static var terminalWidth: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 20 else { return 80 }
        return Int(size.ws_col)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        if descriptor == STDOUT_FILENO { StandardOutput.write(text) } else { StandardOutput.writeError(text) }
    }
}

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

/// The amount of output of a command: `--verbose`, `--quiet` and `--log-level`.
struct Verbosity: Equatable {
    /// The minimum level of log messages; nil for that of `PCAST_LOG_LEVEL`, otherwise `warning`.
    let level: Logger.Level?
    /// Whether messages about the progress are left out. Results, warnings and errors are always written.
    let isQuiet: Bool

    /// Creates the value for options. An explicit level has precedence over that of the two flags.
    ///
    /// - Parameters:
    ///   - level: The explicit level; nil if there is none.
    ///   - verbose: The number of flags `-v`: 1 is the level `info`, 2 `debug`, and 3 or more `trace`.
    ///   - isQuiet: Whether only errors are written.
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

/// Lines of status that are redrawn in place while a command runs.
struct StatusBlock: Sendable, Equatable {
    struct Row: Sendable, Equatable {
        let label: String
        let value: String

        init(_ label: String, _ value: String) {
            self.label = label
            self.value = value
        }
    }

    var title: String
    var rows: [Row]

    /// Returns the lines. Each is truncated to `width`, because a wrapped line would break redrawing. The complete link
    /// is printed above the block.
    func lines(width: Int) -> [String] {
        let labelWidth = (rows.map(\.label.count).max() ?? 0) + 2
        let table = rows.map { row in
            "  " + row.label + String(repeating: " ", count: labelWidth - row.label.count) + row.value
        }
        return ([title] + table).map { $0.count <= width ? $0 : String($0.prefix(max(0, width - 1))) + "…" }
    }
}

/// An event as a line of JSON. Its object begins with `event` and `time`, followed by the other fields in order.
struct EventLine {
    let name: String
    let time: WallTime
    let fields: [(key: String, value: JSONValue)]

    init(name: String, time: WallTime, fields: [(key: String, value: JSONValue)]) {
        (self.name, self.time, self.fields) = (name, time, fields)
    }

    init(name: String, time: WallTime, fields: KeyValuePairs<String, JSONValue>) {
        self.init(name: name, time: time, fields: Array(fields))
    }

    /// The JSON text without a line feed.
    var text: String {
        var object = JSONObject()
        object["event"] = .string(name)
        object["time"] = .string(time.timestampText)
        for (name, value) in fields { object[name] = value }
        return object.text
    }
}

extension JSONValue {
    /// Returns a number; null if it is unknown or not finite.
    static func figure(_ value: Double?) -> JSONValue {
        guard let value, value.isFinite else { return .null }
        return .number(value)
    }

    /// Returns a measured number, rounded to a thousandth.
    /// Returns a duration in milliseconds.
    static func measured(_ duration: Duration?) -> JSONValue { measured(duration?.milliseconds) }

    static func measured(_ value: Double?) -> JSONValue {
        figure(value.map { ($0 * 1_000).rounded() / 1_000 })
    }

    static func count(_ value: some BinaryInteger) -> JSONValue { .number(Double(value)) }

    static func text(_ value: String?) -> JSONValue { value.map(JSONValue.string) ?? .null }
}

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
        guard !silence.isSet else { return }
        let all = metadata.merging(event.metadata ?? [:]) { _, own in own }
        let details = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        console.warn(
            Self.line("\(SystemClock.now().timestampText) \(event.level) \(label): \(event.message)\(details)"))
    }
}
