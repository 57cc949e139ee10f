import Logging
import PCastMedia
import PCastRecords
import Synchronization

/// Writes what happens into the records: in its order, as much at once as has come while the last was written.
///
/// Streams outlast a failing disk: what cannot be written waits, up to a bound, is tried again each second, and holds
/// nobody up; beyond the bound it is lost, and counted.
final class Journal: Sendable {
    private struct State {
        var waiting: [RecordChange] = []
        /// Changes before `waiting` since the beginning: the place of each in the order.
        var taken = 0
        /// Who waits for the change at that place to be on the disk.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var counts = Counts()
        var isFailing = false
        var isOver = false
    }

    /// What became of changes, since the beginning.
    struct Counts: Sendable {
        /// Attempts to write that failed.
        var failures = 0
        /// Changes that were given up.
        var dropped = 0
        /// Changes that wait to be written.
        var waiting = 0
    }

    private let records: Records
    private let logger: Logger
    private let onWritten: @Sendable () -> Void
    private let state = Mutex(State())
    private let (news, bell) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Changes that wait at most.
    private static let capacity = 100_000
    private static let batchSize = 1_000
    private let patience: Duration
    private static let retryInterval = Duration.seconds(1)

    /// - Parameters:
    ///   - patience: a disk that does not answer holds a publisher up so long and no longer.
    ///   - onWritten: called whenever something was written.
    init(
        _ records: Records, logger: Logger, patience: Duration = .seconds(3),
        onWritten: @escaping @Sendable () -> Void
    ) {
        self.records = records
        self.logger = logger
        self.patience = patience
        self.onWritten = onWritten
    }

    var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.waiting.count
            return counts
        }
    }

    /// Has a change written soon.
    func note(_ change: RecordChange) {
        _ = append(change)
        bell.yield()
    }

    /// Has a change written; returns when it is on the disk, or the disk has failed.
    func commit(_ change: RecordChange) async {
        guard let place = append(change) else { return }
        bell.yield()
        let limit = Task {
            try await Task.sleep(for: patience)
            state.withLock { $0.waiters.removeValue(forKey: place) }?.resume()
        }
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                // The writer may have been faster.
                if state.taken > place || state.isOver { return true }
                state.waiters[place] = continuation
                return false
            }
            if isSettled { continuation.resume() }
        }
        limit.cancel()
    }

    /// - Returns: its place in the order; nil when there is no room.
    private func append(_ change: RecordChange) -> Int? {
        state.withLock { state in
            guard state.waiting.count < Self.capacity else {
                state.counts.dropped += 1
                return nil
            }
            state.waiting.append(change)
            return state.taken + state.waiting.count - 1
        }
    }

    /// Writes until `finish`, and then what is left.
    func run() async {
        for await _ in news { await writeAll() }
        await writeAll()
        let waiters = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Nothing more comes.
    func finish() { bell.finish() }

    private func writeAll() async {
        while true {
            let batch = state.withLock { Array($0.waiting.prefix(Self.batchSize)) }
            guard !batch.isEmpty else { return }
            do {
                try await records.record(batch)
                settle(batch.count)
                onWritten()
            } catch {
                guard await recover(from: error, batch) else { return }
            }
        }
    }

    /// - Returns: whether to go on at once.
    private func recover(from error: RecordsError, _ batch: [RecordChange]) async -> Bool {
        let isNew = state.withLock { state in
            state.counts.failures += 1
            defer { state.isFailing = true }
            return !state.isFailing
        }
        if error.isOfTheDisk {
            if isNew { logger.error("records cannot be written; streams go on", metadata: ["why": "\(error)"]) }
            release()
            Task { [bell] in
                try? await Task.sleep(for: Self.retryInterval)
                bell.yield()
            }
            return false
        }
        // One of them is refused whatever the disk does: the others are written without it.
        for change in batch {
            do {
                try await records.record([change])
            } catch {
                logger.error("a record was given up", metadata: ["why": "\(error)"])
                state.withLock { $0.counts.dropped += 1 }
            }
            settle(1)
        }
        onWritten()
        return true
    }

    /// The first so many are written, or given up.
    private func settle(_ count: Int) {
        let (woken, wasFailing) = state.withLock { state in
            state.waiting.removeFirst(count)
            let end = state.taken + count
            let woken = (state.taken..<end).compactMap { state.waiters.removeValue(forKey: $0) }
            state.taken = end
            defer { state.isFailing = false }
            return (woken, state.isFailing)
        }
        for waiter in woken { waiter.resume() }
        if wasFailing { logger.notice("records are written again") }
    }

    /// Nobody waits for a disk that fails.
    private func release() {
        let woken = state.withLock { state in
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in woken { waiter.resume() }
    }
}
