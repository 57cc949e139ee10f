import Synchronization

/// The newest lines of a log, as many as fit; the oldest make room.
final class LogRing: Sendable {
    private struct State {
        var lines: [String] = []
        /// Where the oldest stands, once all places are taken.
        var oldest = 0
    }

    private let capacity: Int
    private let lineLimit: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - capacity: in lines.
    ///   - lineLimit: in characters; longer lines are cut.
    init(capacity: Int = 1_000, lineLimit: Int = 500) {
        precondition(capacity > 0 && lineLimit > 0, "a ring has room")
        self.capacity = capacity
        self.lineLimit = lineLimit
    }

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

    /// The oldest first.
    var lines: [String] {
        state.withLock { Array($0.lines[$0.oldest...] + $0.lines[..<$0.oldest]) }
    }
}
