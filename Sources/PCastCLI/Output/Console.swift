import Foundation
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
    /// - Parameter verbosity: The amount of output; nil for that of the options.
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
    func say(_ sentence: String) {
        if !state.withLock({ $0.isQuiet }) { warn(sentence) }
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

    /// Covers the terminal with video. Messages wait until `uncover`.
    func cover() {
        finish()
        state.withLock { $0.held = [] }
    }

    /// Writes the waiting messages after video has covered the terminal. It has no effect if it was not covered.
    func uncover() {
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
