import Synchronization

/// The events of a cluster for the program, which have one reader.
///
/// Events that the program follows are never dropped: each concerns a publication or a token that this node knows. Of those
/// that it logs only, the newest ones are dropped while ``informationLimit`` wait.
package struct ClusterEvents: AsyncSequence, Sendable {
    /// An event.
    package typealias Element = ClusterEvent
    /// Events end without an error.
    package typealias Failure = Never

    /// The maximum number of waiting events that the program logs only.
    package static let informationLimit = 1_024

    private struct State {
        var events: [ClusterEvent] = []
        /// The index of the next event.
        var next = 0
        /// The number of waiting events that the program logs only.
        var informationCount = 0
    }

    /// The waiting events, which the sequence and its iterator share.
    fileprivate final class Queue: Sendable {
        private let state = Mutex(State())

        func append(_ event: ClusterEvent) {
            state.withLock { state in
                if !event.isFollowed {
                    guard state.informationCount < ClusterEvents.informationLimit else { return }
                    state.informationCount += 1
                }
                state.events.append(event)
            }
        }

        func takeFirst() -> ClusterEvent? {
            state.withLock { state in
                guard state.next < state.events.count else { return nil }
                let event = state.events[state.next]
                state.next += 1
                if !event.isFollowed { state.informationCount -= 1 }
                // Each event that is taken pays for its removal.
                if state.next == state.events.count || state.next >= 1_024 && 2 * state.next >= state.events.count {
                    state.events.removeFirst(state.next)
                    state.next = 0
                }
                return event
            }
        }
    }

    private let queue = Queue()
    private let wakeups: AsyncStream<Void>
    private let wakeup: AsyncStream<Void>.Continuation

    /// Creates an empty sequence.
    package init() {
        (wakeups, wakeup) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Appends an event.
    package func yield(_ event: ClusterEvent) {
        queue.append(event)
        wakeup.yield()
    }

    /// Ends the sequence after the events that wait.
    package func finish() { wakeup.finish() }

    /// Creates the iterator of the reader.
    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: queue, wakeups: wakeups.makeAsyncIterator())
    }

    /// The iterator of the events.
    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let queue: Queue
        fileprivate var wakeups: AsyncStream<Void>.Iterator

        /// Returns the next event; nil after the last one.
        package mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ClusterEvent? {
            while true {
                if let event = queue.takeFirst() { return event }
                guard await wakeups.next(isolation: actor) != nil else { return queue.takeFirst() }
            }
        }
    }
}

extension ClusterEvent {
    /// Whether the program changes something because of the event. It logs the others only.
    var isFollowed: Bool {
        switch self {
        case .fenced, .superseded, .drainRequested, .revoked, .valuesChanged: true
        case .connected, .disconnected, .nodeAppeared, .nodeLost, .announced, .rejected, .failed: false
        }
    }
}
