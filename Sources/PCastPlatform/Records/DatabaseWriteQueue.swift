import Logging
import PCastCore
import PCastDatabase
import Synchronization

/// A queue that writes changes to the database in order. All changes that arrive during a write are written together.
///
/// A failing disk does not interrupt streams: changes wait in the queue and are retried each second. If the queue is
/// full, changes are dropped and counted.
final class DatabaseWriteQueue: Sendable {
    private struct State {
        var waiting: [RecordChange] = []
        /// The number of changes that were removed from the queue since the start.
        var removedCount = 0
        /// The callers that wait until the change with that number is on the disk.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var counts = Counts()
        var isFailing = false
        var isOver = false
    }

    /// The counters since the start.
    struct Counts: Sendable {
        /// The number of failed attempts to write.
        var failures = 0
        /// The number of dropped changes.
        var dropped = 0
        /// The number of changes in the queue.
        var waiting = 0
    }

    private let records: Records
    private let logger: Logger
    private let onWritten: @Sendable () -> Void
    private let state = Mutex(State())
    private let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// The maximum number of changes in the queue.
    private static let capacity = 100_000
    private static let batchSize = 1_000
    private let timeout: Duration
    private static let retryInterval = Duration.seconds(1)

    /// Creates a queue. `timeout` is the maximum time that `commit` waits. `onWritten` is called after each write.
    init(
        _ records: Records, logger: Logger, timeout: Duration = .seconds(3),
        onWritten: @escaping @Sendable () -> Void
    ) {
        self.records = records
        self.logger = logger
        self.timeout = timeout
        self.onWritten = onWritten
    }

    var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.waiting.count
            return counts
        }
    }

    /// Queues a change.
    func note(_ change: RecordChange) {
        _ = append(change)
        wakeup.yield()
    }

    /// Queues a change that may be lost. It is dropped if the queue is half full, so that there is place for others.
    func noteMinor(_ change: RecordChange) {
        _ = append(change, upTo: Self.capacity / 2)
        wakeup.yield()
    }

    /// Queues a change. Returns when it is on the disk, when writing has failed, or after the timeout.
    func commit(_ change: RecordChange) async {
        guard let position = append(change) else { return }
        wakeup.yield()
        let limit = Task {
            try await Task.sleep(for: timeout)
            state.withLock { $0.waiters.removeValue(forKey: position) }?.resume()
        }
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                // The change may be written already.
                if state.removedCount > position || state.isOver { return true }
                state.waiters[position] = continuation
                return false
            }
            if isSettled { continuation.resume() }
        }
        limit.cancel()
    }

    /// Appends a change. Returns its number; nil if the queue has `limit` changes.
    private func append(_ change: RecordChange, upTo limit: Int = DatabaseWriteQueue.capacity) -> Int? {
        state.withLock { state in
            guard state.waiting.count < limit else {
                state.counts.dropped += 1
                return nil
            }
            state.waiting.append(change)
            return state.removedCount + state.waiting.count - 1
        }
    }

    /// Writes changes until `finish`, and then the remaining ones.
    func run() async {
        for await _ in wakeups { await writeAll() }
        await writeAll()
        let waiters = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Ends the queue. No change may follow.
    func finish() { wakeup.finish() }

    private func writeAll() async {
        while true {
            let batch = state.withLock { Array($0.waiting.prefix(Self.batchSize)) }
            guard !batch.isEmpty else { return }
            do {
                try await records.record(batch)
                removeFinished(batch.count)
                onWritten()
            } catch {
                guard await recover(from: error, batch) else { return }
            }
        }
    }

    /// Handles a failed write. Returns whether writing continues at once.
    private func recover(from error: RecordsError, _ batch: [RecordChange]) async -> Bool {
        let isNew = state.withLock { state in
            state.counts.failures += 1
            defer { state.isFailing = true }
            return !state.isFailing
        }
        if error.isOfTheDisk {
            if isNew {
                logger.error("the database cannot be written; streams continue", metadata: ["error": "\(error)"])
            }
            release()
            Task { [wakeup] in
                try? await Task.sleep(for: Self.retryInterval)
                wakeup.yield()
            }
            return false
        }
        // The database rejects one of the changes. The others are written individually.
        for change in batch {
            do {
                try await records.record([change])
            } catch {
                logger.error("a database change was dropped", metadata: ["error": "\(error)"])
                state.withLock { $0.counts.dropped += 1 }
            }
            removeFinished(1)
        }
        onWritten()
        return true
    }

    /// Removes changes from the queue that were written or dropped, and resumes their waiting callers.
    private func removeFinished(_ count: Int) {
        let (woken, wasFailing) = state.withLock { state in
            state.waiting.removeFirst(count)
            let end = state.removedCount + count
            let woken = (state.removedCount..<end).compactMap { state.waiters.removeValue(forKey: $0) }
            state.removedCount = end
            defer { state.isFailing = false }
            return (woken, state.isFailing)
        }
        for waiter in woken { waiter.resume() }
        if wasFailing { logger.notice("the database is writable again") }
    }

    /// Resumes all waiting callers, because the disk fails.
    private func release() {
        let woken = state.withLock { state in
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in woken { waiter.resume() }
    }
}
