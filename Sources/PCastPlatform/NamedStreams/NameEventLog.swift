import PCastCore
import PCastDatabase
import Synchronization

/// The newest events of the named streams of each application, from which clients read (`GET /pcast/names/events`).
///
/// A reader has a position and no queue. If it is slower than the events, or was away for too long, the oldest are
/// missing, and it receives the event `missed` in their place.
final class NameEventLog: Sendable {
    /// The number of events of an application that are kept.
    static let capacity = 512
    /// The maximum number of readers of an application.
    static let maximumReaders = 64

    /// A reader of the events of an application.
    struct Reader: Sendable {
        let application: ApplicationID
        /// An element arrives after new events. The end of the stream means that the platform stops.
        let wakes: AsyncStream<Void>
        let wake: AsyncStream<Void>.Continuation
        /// The position from which it reads.
        var position: Position
    }

    /// The position between two events.
    struct Position: Hashable, Sendable {
        /// The number of the event before it.
        fileprivate(set) var number: UInt64
        /// Whether events before it may be unknown to the reader.
        fileprivate(set) var hasGap = false
    }

    private struct Log {
        var events: [NameEventRecord] = []
        /// The number of the newest event.
        var last: UInt64 = 0
        var readers: [Int: AsyncStream<Void>.Continuation] = [:]

        /// The number of the event before the oldest one.
        var first: UInt64 { last - UInt64(events.count) }
    }

    private struct State {
        var logs: [ApplicationID: Log] = [:]
        var lastReader = 0
        var isFinished = false
    }

    private struct Content: Encodable {
        let name: String
        let streamId: String?
        let publisherId: String?
        let reason: String?
        let timestamp: String
    }

    /// The identifier of this log. Positions of another process are unknown.
    private let id = RandomIdentifier.make(prefix: "")
    private let state = Mutex(State())

    /// Adds an event, and wakes the readers of its application.
    func append(_ event: NameEventRecord) {
        let readers = state.withLock { state in
            var log = state.logs.removeValue(forKey: event.application) ?? Log()
            // The oldest half is removed at once, so that an addition costs little.
            if log.events.count == Self.capacity { log.events.removeFirst(Self.capacity / 2) }
            log.events.append(event)
            log.last += 1
            state.logs[event.application] = log
            return Array(log.readers.values)
        }
        for reader in readers { reader.yield() }
    }

    /// Returns a reader of an application's events.
    ///
    /// - Parameters:
    ///   - application: The application.
    ///   - id: The identifier of the last event that the client knows. Nil for the events from now on.
    /// - Returns: The reader; nil if there are too many. It is removed when its `wakes` are released.
    func reader(of application: ApplicationID, after id: String?) -> Reader? {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let found = state.withLock { state -> (number: Int, position: Position)? in
            var log = state.logs.removeValue(forKey: application) ?? Log()
            defer { state.logs[application] = log }
            guard log.readers.count < Self.maximumReaders else { return nil }
            state.lastReader += 1
            if !state.isFinished { log.readers[state.lastReader] = wake }
            return (state.lastReader, position(after: id, in: log))
        }
        guard let found else { return nil }
        wake.onTermination = { [weak self] _ in self?.remove(found.number, of: application) }
        if state.withLock({ $0.isFinished }) { wake.finish() }
        return Reader(application: application, wakes: wakes, wake: wake, position: found.position)
    }

    private func position(after id: String?, in log: Log) -> Position {
        guard let id else { return Position(number: log.last) }
        let parts = id.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        // The events since the start of another process are those of the whole log.
        guard parts.count == 2, parts[0] == self.id, let number = UInt64(parts[1]), number <= log.last else {
            return Position(number: log.first, hasGap: true)
        }
        return Position(number: number)
    }

    private func remove(_ number: Int, of application: ApplicationID) {
        // The continuation is released after the lock.
        _ = state.withLock { $0.logs[application]?.readers.removeValue(forKey: number) }
    }

    /// Returns the beginning of a response: the identifier of the position, with which a client continues that receives
    /// no event, and the time after which it reconnects.
    func beginning(at position: Position) -> String { "retry: 1000\nid: \(id)-\(position.number)\n\n" }

    /// Returns the text of the events after a reader's position, and moves it. The text is empty if there are none.
    func read(_ reader: inout Reader) -> String {
        let (events, last, first) = state.withLock { state -> ([NameEventRecord], UInt64, UInt64) in
            guard let log = state.logs[reader.application] else { return ([], 0, 0) }
            let count = log.last - min(max(reader.position.number, log.first), log.last)
            return (Array(log.events.suffix(Int(count))), log.last, log.first)
        }
        var text = ""
        if reader.position.hasGap || reader.position.number < first {
            text += "id: \(id)-\(last - UInt64(events.count))\nevent: missed\ndata: {}\n\n"
        }
        for (index, event) in events.enumerated() {
            let number = last - UInt64(events.count) + UInt64(index) + 1
            let content = Content(
                name: event.name, streamId: event.stream?.description, publisherId: event.publisher?.description,
                reason: event.reason, timestamp: Timestamp.text(event.time))
            text += "id: \(id)-\(number)\nevent: \(event.kind.rawValue)\ndata: \(StreamEvents.json(content))\n\n"
        }
        reader.position = Position(number: max(last, first))
        return text
    }

    /// Ends the events of all readers, because the platform stops.
    func finish() {
        // A continuation that is finished removes its reader, which needs the lock.
        let readers = state.withLock { state in
            state.isFinished = true
            return state.logs.values.flatMap { Array($0.readers.values) }
        }
        for reader in readers { reader.finish() }
    }
}
