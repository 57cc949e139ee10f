import PCastCore
import Synchronization

/// The values of a directory and their revisions, as a state machine without time.
package struct DirectoryValues: Sendable {
    /// The values with the revisions of their last writes.
    package private(set) var values: [ClusterKey: (record: ClusterRecord, revision: UInt64)] = [:]
    private var revision: UInt64 = 0

    /// Creates an empty directory.
    package init() {}

    /// Writes a record if the current value has the revision, and returns the new one.
    package mutating func write(
        _ record: ClusterRecord, replacing expected: UInt64?
    ) throws(DirectoryError) -> UInt64 {
        guard values[record.key]?.revision == expected else { throw .conflict }
        revision += 1
        values[record.key] = (record, revision)
        return revision
    }

    /// Removes the value if it has the revision. Returns whether there was one.
    package mutating func remove(_ key: ClusterKey, revision expected: UInt64) throws(DirectoryError) -> Bool {
        guard let value = values[key] else { return false }
        guard value.revision == expected else { throw .conflict }
        revision += 1
        values[key] = nil
        return true
    }

    /// Removes all values, and begins with revision 1 again, like a server whose storage was deleted.
    package mutating func reset() { self = DirectoryValues() }

    /// The events that report all values after a connection.
    package var snapshot: [DirectoryEvent] {
        let changes = values.values.sorted { $0.revision < $1.revision }
            .map { DirectoryEvent.changed($0.record, revision: $0.revision) }
        return [.connected] + changes + [.synchronized]
    }
}

/// The values in memory that the nodes of one process share. It is for programs that embed several platforms, and for
/// tests.
package final class MemoryDirectoryStore: Sendable {
    private struct State {
        var values = DirectoryValues()
        var readers: [Int: AsyncStream<DirectoryEvent>.Continuation] = [:]
        var nextReader = 0
        var isReachable = true

        func check(_ number: Int) throws(DirectoryError) {
            guard isReachable, readers[number] != nil else { throw .unavailable("The directory is disconnected.") }
        }
    }

    private let state = Mutex(State())

    /// Creates an empty store.
    package init() {}

    /// Returns the directory of another node.
    package func attach() -> MemoryDirectory {
        let (events, continuation) = AsyncStream.makeStream(of: DirectoryEvent.self)
        let number = state.withLock { state in
            state.nextReader += 1
            state.readers[state.nextReader] = continuation
            if state.isReachable { for event in state.values.snapshot { continuation.yield(event) } }
            return state.nextReader
        }
        return MemoryDirectory(store: self, number: number, events: events)
    }

    /// Disconnects all nodes, or connects them again.
    package func setReachable(_ isReachable: Bool) {
        state.withLock { state in
            guard state.isReachable != isReachable else { return }
            state.isReachable = isReachable
            let events = isReachable ? state.values.snapshot : [.disconnected("The directory is not reachable.")]
            for reader in state.readers.values { for event in events { reader.yield(event) } }
        }
    }

    /// Removes all values. The nodes notice it when they connect again.
    package func reset() { state.withLock { $0.values.reset() } }

    fileprivate func write(_ record: ClusterRecord, _ revision: UInt64?, _ number: Int) throws(DirectoryError) -> UInt64
    {
        try state.withLock { state throws(DirectoryError) in
            try state.check(number)
            let written = try state.values.write(record, replacing: revision)
            for reader in state.readers.values { reader.yield(.changed(record, revision: written)) }
            return written
        }
    }

    fileprivate func remove(_ key: ClusterKey, _ revision: UInt64, _ number: Int) throws(DirectoryError) {
        try state.withLock { state throws(DirectoryError) in
            try state.check(number)
            guard try state.values.remove(key, revision: revision) else { return }
            for reader in state.readers.values { reader.yield(.removed(key)) }
        }
    }

    fileprivate func close(_ number: Int) { state.withLock { $0.readers.removeValue(forKey: number) }?.finish() }
}

/// The directory of one node in a ``MemoryDirectoryStore``.
package struct MemoryDirectory: ClusterDirectory {
    private let store: MemoryDirectoryStore
    private let number: Int
    /// The changes, which have one reader.
    package let events: AsyncStream<DirectoryEvent>

    fileprivate init(store: MemoryDirectoryStore, number: Int, events: AsyncStream<DirectoryEvent>) {
        self.store = store
        self.number = number
        self.events = events
    }

    /// Writes a record, and returns its new revision.
    package func write(_ record: ClusterRecord, replacing revision: UInt64?) async throws(DirectoryError) -> UInt64 {
        try store.write(record, revision, number)
    }

    /// Removes a value that has a revision.
    package func remove(_ key: ClusterKey, revision: UInt64) async throws(DirectoryError) {
        try store.remove(key, revision, number)
    }

    /// Disconnects, and ends the sequence of events.
    package func close() async { store.close(number) }
}
