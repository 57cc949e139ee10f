import Foundation
import PCastIO
import PCastJSON
import PCastMedia
import PCastWeb
import Synchronization

/// Where a command writes: events for programs, sentences for people, and the live status block.
///
/// With `--json` standard output holds events alone and people read standard error; otherwise there are no events.
final class Console: Sendable {
    private struct State {
        var shownLines = 0
        var block: StatusBlock?
        /// What people are told when the terminal can be read again; nil while it can.
        var held: [String]?
    }

    /// Sentences that wait for the terminal at most; the oldest give way.
    private static let mostHeld = 100

    /// Whether a status block is drawn: on a terminal that can, unless programs read along.
    let isLive: Bool
    private let writesEvents: Bool
    /// What of the libraries' words is shown.
    let threshold = LogThreshold()
    private let state = Mutex(State())

    init(_ options: OutputOptions) {
        writesEvents = options.json
        let terminal = ProcessInfo.processInfo.environment["TERM"] ?? "dumb"
        isLive = !options.json && isatty(STDOUT_FILENO) == 1 && terminal != "dumb"
    }

    /// One line for programs, at once.
    func event(_ name: String, _ fields: KeyValuePairs<String, JSONValue> = [:]) { event(name, Array(fields)) }

    func event(_ name: String, _ fields: [(key: String, value: JSONValue)]) {
        guard writesEvents else { return }
        let line = EventLine(name: name, time: SystemClock.now(), fields: fields).text
        state.withLock { _ in Self.write(line + "\n", to: STDOUT_FILENO) }
    }

    /// What a person asked for and may hand on to another program; in an event where there are events.
    func result(_ text: String) {
        guard !writesEvents else { return }
        let text = Self.sentence(text)
        state.withLock { _ in Self.write(text + "\n", to: STDOUT_FILENO) }
    }

    /// A text for a terminal: what others have written stands in it, and must not steer the terminal.
    static func sentence(_ text: String) -> String { text.escapingControlCharacters(keeping: ["\n", "\t"]) }

    /// A sentence for people, above the status block.
    func say(_ sentence: String) {
        let descriptor = isLive ? STDOUT_FILENO : STDERR_FILENO
        let sentence = Self.sentence(sentence)
        state.withLock { state in
            if state.held != nil, isatty(descriptor) == 1 {
                state.held?.append(sentence)
                if state.held!.count > Self.mostHeld { state.held?.removeFirst() }
                return
            }
            Self.write(erasure(&state) + sentence + "\n" + drawing(&state), to: descriptor)
        }
    }

    /// Draws the status block in the place of the last one; nothing where there is no terminal.
    func show(_ block: StatusBlock) {
        guard isLive else { return }
        state.withLock { state in
            guard state.held == nil else { return }
            let erasure = erasure(&state)
            state.block = block
            Self.write(erasure + drawing(&state), to: STDOUT_FILENO)
        }
    }

    /// Leaves the last status block standing, and what follows below it.
    func finish() {
        state.withLock { state in
            state.block = nil
            state.shownLines = 0
        }
    }

    /// Pictures take the terminal: what people are told there waits until `uncover`.
    func cover() {
        finish()
        state.withLock { $0.held = [] }
    }

    /// The terminal can be read again. Harmless when it was not covered.
    func uncover() {
        let held = state.withLock { state in
            defer { state.held = nil }
            return state.held
        }
        for sentence in held ?? [] { say(sentence) }
    }

    /// Back to the block's first line, and everything from there on cleared.
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
