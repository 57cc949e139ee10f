public import PCastMedia

/// A short queue of frames between threads that drops the oldest when the consumer is late, so that delay cannot grow:
/// device to encoder, decoder to renderer. Any number of threads on either side.
public final class FrameQueue<Element: Sendable>: Sendable {
    private struct State {
        var slots: [Element?]
        var head = 0
        var count = 0
        var dropped = 0
        var isClosed = false

        mutating func removeFirst() -> Element {
            let element = slots[head]!
            slots[head] = nil
            head = (head + 1) % slots.count
            count -= 1
            return element
        }
    }

    private let state: Monitor<State>

    /// Frames that the queue holds at most.
    public let capacity: Int

    public init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
        state = Monitor(State(slots: Array(repeating: nil, count: capacity)))
    }

    /// Appends a frame; the oldest one makes room when the queue is full, and is answered. A closed queue answers the
    /// frame itself.
    @discardableResult
    public func push(_ element: Element) -> Element? {
        state.withLock { state, condition in
            if state.isClosed { return element }
            var oldest: Element?
            if state.count == capacity {
                oldest = state.removeFirst()
                state.dropped += 1
            }
            state.slots[(state.head + state.count) % capacity] = element
            state.count += 1
            condition.wakeOne()
            return oldest
        }
    }

    /// Blocks until there is a frame. Nil when the queue was closed and is empty, or when `deadline` came first.
    public func pop(until deadline: Instant? = nil) -> Element? {
        let taken: Element?? = state.wait(until: deadline) { state in
            if state.count > 0 { return .some(state.removeFirst()) }
            return state.isClosed ? .some(nil) : nil
        }
        return taken ?? nil
    }

    /// The oldest frame if there is one; never blocks.
    public func popIfAny() -> Element? {
        state.withLock { state, _ in state.count > 0 ? state.removeFirst() : nil }
    }

    /// Refuses further frames and wakes whoever waits. What is in the queue can still be taken.
    public func close() {
        state.withLock { state, condition in
            state.isClosed = true
            condition.wakeAll()
        }
    }

    /// Forgets what waits, as after a seek.
    public func removeAll() {
        state.withLock { state, _ in
            while state.count > 0 { _ = state.removeFirst() }
        }
    }

    public var count: Int { state.withLock { state, _ in state.count } }

    /// Frames that were dropped because the consumer was late.
    public var droppedCount: Int { state.withLock { state, _ in state.dropped } }

    public var isClosed: Bool { state.withLock { state, _ in state.isClosed } }
}
