import Dispatch
import NIOCore
import PCastIO
import PCastJSON
import PCastMedia
import PCastTimeline
import PCastWeb
import Synchronization

/// One game's timeline in memory: its log, the file that it is kept in, and who follows it. What is recorded is written once,
/// encoded once, and its bytes are shared by all who are sent it.
final class TimelineChannel: Sendable {
    /// Revisions that one message tells.
    struct Batch: Sendable {
        var text: SharedText
        var last: SequenceNumber
        /// Of the log.
        var newest: SequenceNumber
    }

    /// The consumers of one thread.
    private struct Lane: Sendable {
        var loop: any NIOCore.EventLoop
        var consumers: [TimelineConsumer] = []
    }

    private struct State {
        var log: TimelineLog
        var lanes: [ObjectIdentifier: Lane] = [:]
        var consumerCount = 0
        var kept: [SequenceNumber: (text: SharedText, last: SequenceNumber)] = [:]
        /// The timeline written out, or being written, as it was at a number.
        var document: (number: SequenceNumber, text: Task<ByteBuffer, Never>)?
        var documentsMade = 0
        var usedAt: Instant
    }

    let id: TimelineLogID
    private let file: TimelineFile?
    private let state: Mutex<State>
    /// Here producers' requests are done, one after another.
    private let queue = DispatchQueue(label: "pcast.timeline")

    init(_ id: TimelineLogID, log: TimelineLog = TimelineLog(), in file: TimelineFile? = nil) {
        (self.id, self.file) = (id, file)
        state = Mutex(State(log: log, usedAt: MonotonicClock.now()))
    }

    /// As it is now.
    var log: TimelineLog { state.withLock { $0.log } }

    /// How often the whole timeline was written out.
    var documentsMade: Int { state.withLock { $0.documentsMade } }

    /// The whole timeline as `GET` answers it: written out once for all who ask for it, until it changes.
    func document(of game: TimelineGame) async -> ByteBuffer {
        let task = state.withLock { state in
            if let document = state.document, document.number == state.log.newest { return document.text }
            state.documentsMade += 1
            let (id, log) = (id, state.log)
            let task = Task { Self.document(of: game, id, log) }
            state.document = (log.newest, task)
            return task
        }
        return await task.value
    }

    /// Lets go of what was written out, when nobody asks for it any more.
    func dropDocument() { state.withLock { $0.document = nil } }

    private static func document(of game: TimelineGame, _ id: TimelineLogID, _ log: TimelineLog) -> ByteBuffer {
        var object: JSONObject = [
            "status": "ok", "league": .string(game.league), "game": .string(game.game),
            "log": .string(id.description), "seq": .integer(Int64(log.newest.value)),
        ]
        object["info"] = log.info.map { .object($0.object) }
        object["events"] = .array(log.events.map { .object($0.object) })
        return ByteBuffer(string: object.text)
    }

    var newest: SequenceNumber { state.withLock { $0.log.newest } }

    var consumerCount: Int { state.withLock { $0.consumerCount } }

    /// When it was last asked for something, by somebody who has left; nil while anybody follows it.
    var idleSince: Instant? { state.withLock { $0.consumerCount == 0 ? $0.usedAt : nil } }

    func touch() {
        let now = MonotonicClock.now()
        state.withLock { $0.usedAt = now }
    }

    // MARK: Producers

    /// Records what a producer asks for, and returns when it lasts; then it is told to all.
    ///
    /// - Returns: nil for what changes nothing.
    func record(_ request: TimelineRequest) async throws(TimelineFailure) -> TimelineRevision? {
        let result: Result<TimelineRevision?, TimelineFailure> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.recordNow(request)) }
        }
        return try result.get()
    }

    private func recordNow(_ request: TimelineRequest) -> Result<TimelineRevision?, TimelineFailure> {
        let now = MonotonicClock.wallTime()
        let revision: TimelineRevision?
        do throws(TimelineError) {
            revision = try log.revision(for: request, at: now)
        } catch {
            return .failure(.request(error))
        }
        guard let revision else { return .success(nil) }
        do throws(TimelineFailure) {
            try file?.append(revision.bytes)
        } catch {
            return .failure(error)
        }
        let lanes = state.withLock { state in
            // It was made for this log, by the only one who adds to it.
            guard (try? state.log.append(revision)) == true else {
                preconditionFailure("a revision that does not follow")
            }
            return Array(state.lanes.values)
        }
        for lane in lanes { Self.pump(lane, from: 0) }
        return .success(revision)
    }

    // MARK: Consumers

    private static func pump(_ lane: Lane, from index: Int) {
        lane.loop.execute {
            let end = min(index + TimelineTerms.slice, lane.consumers.count)
            for consumer in lane.consumers[index..<end] { consumer.pump() }
            if end < lane.consumers.count { pump(lane, from: end) }
        }
    }

    func join(_ consumer: TimelineConsumer) {
        let loop = consumer.connection.eventLoop
        let newest = state.withLock { state in
            state.lanes[ObjectIdentifier(loop), default: Lane(loop: loop)].consumers.append(consumer)
            state.consumerCount += 1
            return state.log.newest
        }
        consumer.begin(newest)
    }

    func leave(_ consumer: TimelineConsumer) {
        consumer.end()
        let key = ObjectIdentifier(consumer.connection.eventLoop)
        let now = MonotonicClock.now()
        state.withLock { state in
            guard var lane = state.lanes.removeValue(forKey: key) else { return }
            if let index = lane.consumers.firstIndex(where: { $0 === consumer }) {
                // Their order means nothing.
                lane.consumers.swapAt(index, lane.consumers.count - 1)
                lane.consumers.removeLast()
                state.consumerCount -= 1
            }
            state.lanes[key] = lane
            state.usedAt = now
        }
    }

    /// What follows a place; nil for who has everything.
    func batch(after place: SequenceNumber) -> Batch? {
        state.withLock { state in
            guard place < state.log.newest else { return nil }
            if let kept = state.kept[place] {
                return Batch(text: kept.text, last: kept.last, newest: state.log.newest)
            }
            var lines: [[UInt8]] = []
            var size = 0
            for revision in state.log.changes(since: place) {
                let line = revision.bytes
                if !lines.isEmpty, size + line.count > TimelineTerms.messageBytes { break }
                lines.append(line)
                size += line.count + 1
            }
            let last = SequenceNumber(place.value + lines.count)
            let text = SharedText(TimelineMessage.changes(lines))
            if state.kept.count >= TimelineTerms.keptMessages { state.kept.removeAll() }
            state.kept[place] = (text, last)
            return Batch(text: text, last: last, newest: state.log.newest)
        }
    }

    /// Looks after a part of the consumers.
    ///
    /// - Parameter turn: counts up by one each second.
    func look(_ turn: Int, at now: Instant) {
        let consumers = state.withLock { state in
            state.lanes.values.flatMap { lane in
                stride(from: turn % TimelineTerms.pingTurns, to: lane.consumers.count, by: TimelineTerms.pingTurns)
                    .map { lane.consumers[$0] }
            }
        }
        for consumer in consumers { consumer.check(at: now) }
    }
}
