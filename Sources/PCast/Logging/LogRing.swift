import Synchronization

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
