package import PCastCore

/// A short queue of frames between threads, such as from a device to an encoder or from a decoder to a renderer. If the
/// consumer is late, the oldest frame is dropped, so that the delay does not grow. Any number of threads may produce
/// and consume.
package final class FrameQueue<Element: Sendable>: Sendable {
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

    /// The maximum number of frames.
    package let capacity: Int

    /// Creates an empty queue. Traps if the capacity is not positive.
    package init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
        state = Monitor(State(slots: Array(repeating: nil, count: capacity)))
    }

    /// Appends a frame. If the queue is full, the oldest frame is removed and returned. If the queue is closed, the
    /// frame itself is returned. Otherwise it returns nil.
    @discardableResult
    package func push(_ element: Element) -> Element? {
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

    /// Removes and returns the oldest frame. Blocks until there is one. Returns nil if the queue is closed and empty,
    /// or `deadline` is reached.
    package func pop(until deadline: Instant? = nil) -> Element? {
        let element: Element?? = state.wait(until: deadline) { state in
            if state.count > 0 { return .some(state.removeFirst()) }
            return state.isClosed ? .some(nil) : nil
        }
        return element ?? nil
    }

    /// Removes and returns the oldest frame; nil if the queue is empty. It never blocks.
    package func popIfAny() -> Element? {
        state.withLock { state, _ in state.count > 0 ? state.removeFirst() : nil }
    }

    /// Rejects further frames and wakes waiting threads. Frames in the queue can still be removed.
    package func close() {
        state.withLock { state, condition in
            state.isClosed = true
            condition.wakeAll()
        }
    }

    /// Removes all frames, such as after a seek.
    package func removeAll() {
        state.withLock { state, _ in
            while state.count > 0 { _ = state.removeFirst() }
        }
    }

    /// The number of frames in the queue.
    package var count: Int { state.withLock { state, _ in state.count } }

    /// The number of frames that were dropped because the consumer was late.
    package var droppedCount: Int { state.withLock { state, _ in state.dropped } }

    /// Whether the queue is closed.
    package var isClosed: Bool { state.withLock { state, _ in state.isClosed } }
}
