import Dispatch
import NIOCore
import PCastCore
import PCastIO
import PCastJSON
import PCastTimeline
import PCastWeb
import Synchronization

/// The timeline of a game in memory, with its log, its file and its consumers. A revision is written and encoded once,
/// and all consumers share its bytes.
final class TimelineChannel: Sendable {
    /// The revisions in one message.
    struct Batch: Sendable {
        var text: SharedText
        var last: SequenceNumber
        /// The number of the newest revision in the log.
        var newest: SequenceNumber
    }

    /// The consumers of one event loop.
    private struct EventLoopConsumers: Sendable {
        var loop: any NIOCore.EventLoop
        var consumers: [TimelineConsumer] = []
    }

    private struct State {
        var replica: TimelineReplica
        var file: TimelineFile?
        var consumersByLoop: [ObjectIdentifier: EventLoopConsumers] = [:]
        var consumerCount = 0
        var kept: [SequenceNumber: (text: SharedText, last: SequenceNumber)] = [:]
        /// The complete timeline as text, or the task that encodes it, for a revision number.
        var document: (number: SequenceNumber, text: Task<ByteBuffer, Never>)?
        var documentsMade = 0
        var usedAt: Instant
        var clock = ProducerClock()
    }

    private let state: Mutex<State>
    /// The queue that processes the requests of producers in order.
    private let queue = DispatchQueue(label: "pcast.timeline")

    /// Creates the timeline of a new log.
    convenience init(_ id: TimelineLogID) {
        self.init(TimelineReplica(TimelineLog(), TimelineLineage(id), isOwn: true))
    }

    /// Creates the timeline with the revisions of a file.
    init(_ replica: TimelineReplica, in file: TimelineFile? = nil) {
        state = Mutex(State(replica: replica, file: file, usedAt: MonotonicClock.now()))
    }

    /// The identifier of the current log.
    var id: TimelineLogID { state.withLock { $0.replica.lineage.newest ?? TimelineLogID("") } }

    /// The current log.
    var log: TimelineLog { state.withLock { $0.replica.log } }

    /// The revisions with the logs of which they are.
    var replica: TimelineReplica { state.withLock { $0.replica } }

    /// The number of times that the complete timeline was encoded.
    var documentsMade: Int { state.withLock { $0.documentsMade } }

    /// Returns the complete timeline as the response to GET. It is encoded once for all requests until it changes.
    func document(of game: TimelineGame) async -> ByteBuffer {
        let task = state.withLock { state in
            if let document = state.document, document.number == state.replica.newest { return document.text }
            state.documentsMade += 1
            let (id, log) = (state.replica.lineage.newest ?? TimelineLogID(""), state.replica.log)
            let task = Task { Self.document(of: game, id, log) }
            state.document = (log.newest, task)
            return task
        }
        return await task.value
    }

    /// Removes the encoded timeline to free memory.
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

    var newest: SequenceNumber { state.withLock { $0.replica.newest } }

    var consumerCount: Int { state.withLock { $0.consumerCount } }

    /// The time of the last use; nil while there are consumers.
    var idleSince: Instant? { state.withLock { $0.consumerCount == 0 ? $0.usedAt : nil } }

    func touch() {
        let now = MonotonicClock.now()
        state.withLock { $0.usedAt = now }
    }

    // MARK: Producers

    /// Compares the clock of a producer with the platform's. Returns the difference, and whether the producer was off
    /// before and is off now.
    func compareClock(
        sentAt: WallTime, precision: TimeSpan, receivedAt: WallTime
    ) -> (difference: TimeSpan, wasOff: Bool, isOff: Bool) {
        state.withLock { state in
            let wasOff = state.clock.isOff
            state.clock.observe(sentAt: sentAt, precision: precision, receivedAt: receivedAt)
            return (state.clock.difference ?? .zero, wasOff, state.clock.isOff)
        }
    }

    /// Whether the clock of a producer deviates from the platform's by more than the tolerance.
    var isProducerOff: Bool { state.withLock { $0.clock.isOff } }

    /// Records the change that a producer requests. It is persistent when this returns, and then sent to all consumers.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - origin: The identifier of the request in a cluster. A request that was recorded before has no effect.
    ///   - log: The identifier of the log that begins if another process has begun the current one; nil to continue it.
    /// - Returns: The revision; nil if nothing changes.
    /// - Throws: ``TimelineFailure``.
    func record(
        _ request: TimelineRequest, origin: String? = nil, beginning log: TimelineLogID? = nil
    ) async throws(TimelineFailure) -> TimelineRevision? {
        try await inOrder { () throws(TimelineFailure) in try self.recordNow(request, origin, beginning: log) }
    }

    private func inOrder<Value: Sendable>(
        _ body: @escaping @Sendable () throws(TimelineFailure) -> Value
    ) async throws(TimelineFailure) -> Value {
        let result: Result<Value, TimelineFailure> = await withCheckedContinuation { continuation in
            queue.async {
                do throws(TimelineFailure) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    private func recordNow(
        _ request: TimelineRequest, _ origin: String?, beginning log: TimelineLogID?
    ) throws(TimelineFailure) -> TimelineRevision? {
        let now = MonotonicClock.wallTime()
        if let origin, let known = replica.revision(of: origin) { return known }
        let revision: TimelineRevision?
        do throws(TimelineError) {
            revision = try replica.revision(for: request, origin: origin, at: now)
        } catch {
            throw .request(error)
        }
        guard let revision else { return nil }
        let (file, isOwn) = state.withLock { ($0.file, $0.replica.isOwn) }
        if let log, !isOwn {
            try file?.append(log)
            state.withLock { $0.replica.begin(log) }
        }
        try file?.append(revision.bytes)
        let groups = state.withLock { state in
            // The revision was made for this log, and only this queue appends to it.
            guard (try? state.replica.append(revision)) == true else {
                preconditionFailure("a revision must follow the previous one")
            }
            return Array(state.consumersByLoop.values)
        }
        for group in groups { Self.pump(group, from: 0) }
        return revision
    }

    // MARK: Other nodes

    /// Adds revisions of another node. Returns the new ones; nil if one is missing before them, if there is no space, or if
    /// this node has added revisions of its own.
    ///
    /// - Throws: ``TimelineFailure``.
    func append(_ revisions: [TimelineRevision]) async throws(TimelineFailure) -> [TimelineRevision]? {
        try await inOrder { () throws(TimelineFailure) in
            // A number of this node's own log is that of another revision.
            guard !self.replica.isOwn else { return nil }
            return try self.appendNow(revisions)
        }
    }

    private func appendNow(_ revisions: [TimelineRevision]) throws(TimelineFailure) -> [TimelineRevision]? {
        let newest = newest
        let new = revisions.filter { $0.number > newest }
        guard !new.isEmpty else { return [] }
        guard log.hasSpace(for: new) else { return nil }
        let lines = new.map(\.bytes).joined(separator: [UInt8(ascii: "\n")])
        try state.withLock { $0.file }?.append(Array(lines))
        let groups = state.withLock { state in
            // Only this queue appends to the log.
            for revision in new where (try? state.replica.append(revision)) != true {
                preconditionFailure("a revision must follow the previous one")
            }
            return Array(state.consumersByLoop.values)
        }
        for group in groups { Self.pump(group, from: 0) }
        return new
    }

    /// Continues the revisions of another node after a revision. Later ones are removed, and their consumers connect again.
    /// Returns false without a change if `newest` is not the newest revision any more.
    ///
    /// - Throws: ``TimelineFailure``.
    func reset(
        _ lineage: TimelineLineage, after number: SequenceNumber, newest: SequenceNumber, of game: TimelineGame
    ) async throws(TimelineFailure) -> Bool {
        try await inOrder { () throws(TimelineFailure) in
            var replica = self.replica
            guard replica.newest == newest else { return false }
            let isShorter = number < newest
            guard isShorter || replica.lineage != lineage else { return true }
            replica.reset(lineage, after: number)
            let file = try self.state.withLock { $0.file }?.replaced(by: replica, of: game)
            self.state.withLock { $0.file = file }
            self.store(replica, after: isShorter ? number : nil)
            return true
        }
    }

    /// Adds the revisions of another node after the last one that both share. Returns the changes that were not added,
    /// because this node has later ones, and the new revisions.
    ///
    /// - Throws: ``TimelineFailure``.
    func merge(
        _ revisions: [TimelineRevision], of lineage: TimelineLineage, newest: SequenceNumber, game: TimelineGame,
        beginning log: TimelineLogID
    ) async throws(TimelineFailure) -> (new: [TimelineRevision], superseded: [TimelineRevision], failed: Int) {
        try await inOrder { () throws(TimelineFailure) in
            let replica = self.replica
            if replica.isContinued(by: lineage, newest: newest) {
                var continued = replica
                continued.reset(lineage, after: replica.newest)
                let file = try self.state.withLock { $0.file }?.replaced(by: continued, of: game)
                self.state.withLock { ($0.file, $0.replica) = (file, continued) }
                guard let new = try self.appendNow(revisions) else { return ([], [], revisions.count) }
                return (new, [], 0)
            }
            let shared = replica.shared(with: lineage, newest: newest)
            let merge = replica.merging(revisions, of: lineage, after: shared, at: MonotonicClock.wallTime())
            var new: [TimelineRevision] = []
            var failed = 0
            for (request, origin) in merge.requests {
                do throws(TimelineFailure) {
                    if let revision = try self.recordNow(request, origin, beginning: log) { new.append(revision) }
                } catch {
                    // The event is deleted here, too.
                    if case .request(.noEvent) = error { continue }
                    guard case .request = error else { throw error }
                    failed += 1
                }
            }
            return (new, merge.superseded, failed)
        }
    }

    /// Replaces the revisions, and sends new ones to the consumers. Consumers that have received revisions after a number are
    /// disconnected, because these were removed.
    private func store(_ replica: TimelineReplica, after number: SequenceNumber?) {
        let groups = state.withLock { state in
            state.replica = replica
            if number != nil { (state.kept, state.document) = ([:], nil) }
            return Array(state.consumersByLoop.values)
        }
        for group in groups {
            if let number { for consumer in group.consumers { consumer.close(ifBeyond: number) } }
            Self.pump(group, from: 0)
        }
    }

    // MARK: Consumers

    private static func pump(_ group: EventLoopConsumers, from index: Int) {
        group.loop.execute {
            let end = min(index + TimelineConsumerLimits.slice, group.consumers.count)
            for consumer in group.consumers[index..<end] { consumer.pump() }
            if end < group.consumers.count { pump(group, from: end) }
        }
    }

    /// Adds a consumer, which has received the revisions of a log up to a number. If this timeline has others, the consumer
    /// receives all revisions.
    func join(_ consumer: TimelineConsumer, since number: Int = 0, of log: TimelineLogID? = nil) {
        let loop = consumer.connection.eventLoop
        let (newest, start) = state.withLock { state in
            state.consumersByLoop[ObjectIdentifier(loop), default: EventLoopConsumers(loop: loop)].consumers.append(
                consumer)
            state.consumerCount += 1
            return (state.replica.newest, Self.start(number, log, in: state.replica))
        }
        consumer.begin(newest, after: start)
        // Revisions may have been removed meanwhile.
        let valid = state.withLock { Self.start(number, log, in: $0.replica) }
        if valid < start { consumer.close(ifBeyond: valid) }
    }

    /// Returns the number of the last revision that a consumer has of these ones; `none` if it has none.
    private static func start(
        _ number: Int, _ log: TimelineLogID?, in replica: TimelineReplica
    ) -> SequenceNumber {
        var newest = replica.newest
        if let log { newest = replica.lineage.end(of: log, newest: newest) ?? .none }
        return (0...newest.value).contains(number) ? SequenceNumber(number) : .none
    }

    func leave(_ consumer: TimelineConsumer) {
        consumer.end()
        let key = ObjectIdentifier(consumer.connection.eventLoop)
        let now = MonotonicClock.now()
        state.withLock { state in
            guard var group = state.consumersByLoop.removeValue(forKey: key) else { return }
            if let index = group.consumers.firstIndex(where: { $0 === consumer }) {
                // The order of consumers has no meaning.
                group.consumers.swapAt(index, group.consumers.count - 1)
                group.consumers.removeLast()
                state.consumerCount -= 1
            }
            state.consumersByLoop[key] = group
            state.usedAt = now
        }
    }

    /// Returns the revisions after a number; nil if there are none.
    func batch(after number: SequenceNumber) -> Batch? {
        state.withLock { state in
            let log = state.replica.log
            guard number < log.newest else { return nil }
            if let kept = state.kept[number] { return Batch(text: kept.text, last: kept.last, newest: log.newest) }
            var lines: [[UInt8]] = []
            var size = 0
            for revision in log.changes(since: number) {
                let line = revision.bytes
                if !lines.isEmpty, size + line.count > TimelineConsumerLimits.messageBytes { break }
                lines.append(line)
                size += line.count + 1
            }
            let last = SequenceNumber(number.value + lines.count)
            let text = SharedText(TimelineMessage.changes(lines))
            if state.kept.count >= TimelineConsumerLimits.keptMessages { state.kept.removeAll() }
            state.kept[number] = (text, last)
            return Batch(text: text, last: last, newest: log.newest)
        }
    }

    /// Checks a part of the consumers. `round` increases by one each second, and `timeout` is the time without a response
    /// or without progress.
    func checkConsumers(_ round: Int, timeout: TimeSpan, at now: Instant) {
        let consumers = state.withLock { state in
            state.consumersByLoop.values.flatMap { group in
                stride(
                    from: round % TimelineConsumerLimits.pingInterval, to: group.consumers.count,
                    by: TimelineConsumerLimits.pingInterval
                )
                .map { group.consumers[$0] }
            }
        }
        for consumer in consumers { consumer.check(timeout: timeout, at: now) }
    }
}

/// The limits of timeline consumers.
enum TimelineConsumerLimits {
    /// The size of a message in bytes, beyond which revisions are sent in the next one.
    static let messageBytes = 64 * 1024
    /// The maximum number of revisions by which a consumer that was up to date may fall behind.
    static let backlog = 512
    /// The maximum number of cached messages for consumers at the same position.
    static let keptMessages = 16
    /// The maximum number of consumers that are served in one iteration of their event loop, so that other work is not
    /// delayed.
    static let slice = 64
    /// The maximum number of games in memory. A game that is stored on disk and unused is unloaded for another.
    static let games = 1_000
    /// The interval in seconds between two pings to a consumer.
    static let pingInterval = 20
    /// The time without a response, or without progress of a message, after which a consumer is disconnected.
    static let timeout = TimeSpan.seconds(60)
    /// The number of messages of a consumer, which should send none, after which it is disconnected.
    static let unexpectedMessages = 16
}

/// A consumer of a game's timeline. Its position in the log replaces a queue, and at most one message is being sent at
/// a time.
final class TimelineConsumer: Sendable {
    private struct State {
        /// The number of the last revision that was sent.
        var lastSent: SequenceNumber
        /// The log that the consumer knows.
        var log: TimelineLogID?
        /// The time at which the current message was sent; nil if none is being sent.
        var sendingSince: Instant?
        var hasCaughtUp = false
        var isOver = false
        var lastReceivedAt: Instant
        var unexpectedMessages = 0
    }

    private enum Step {
        case send(SharedText)
        case begin
        case closeBehind(newest: SequenceNumber)
        case idle
    }

    /// The close statuses "try again later" and "policy violation" (RFC 6455, section 7.4.1, and the WebSocket
    /// registry).
    private static let tryAgainLater: UInt16 = 1_013
    private static let policyViolation: UInt16 = 1_008

    let connection: WebSocketConnection
    private let channel: TimelineChannel
    private let state: Mutex<State>

    init(_ connection: WebSocketConnection, of channel: TimelineChannel) {
        (self.connection, self.channel) = (connection, channel)
        state = Mutex(State(lastSent: .none, lastReceivedAt: MonotonicClock.now()))
    }

    /// Sends the identifier of the log, and then all revisions after the position.
    func begin(_ newest: SequenceNumber, after start: SequenceNumber? = nil) {
        let id = channel.id
        let lastSent = state.withLock { state in
            state.sendingSince = MonotonicClock.now()
            state.log = id
            if let start { state.lastSent = start }
            return state.lastSent
        }
        post(SharedText(TimelineMessage.begin(id, newest: newest, from: lastSent).bytes))
    }

    /// Closes the connection of a consumer that has received revisions after a number, which are not valid any more.
    func close(ifBeyond number: SequenceNumber) {
        let newest: SequenceNumber? = state.withLock { state in
            guard !state.isOver, state.lastSent > number else { return nil }
            state.isOver = true
            return number
        }
        if let newest { closeBehind(newest) }
    }

    /// Sends the next message unless one is being sent. It must be called on the connection's event loop.
    func pump() {
        let id = channel.id
        let step = state.withLock { state -> Step in
            guard !state.isOver, state.sendingSince == nil, let log = state.log else { return .idle }
            if log != id { return .begin }
            guard let batch = channel.batch(after: state.lastSent) else {
                state.hasCaughtUp = true
                return .idle
            }
            if state.hasCaughtUp, batch.newest.value - state.lastSent.value > TimelineConsumerLimits.backlog {
                state.isOver = true
                return .closeBehind(newest: batch.newest)
            }
            state.lastSent = batch.last
            state.sendingSince = MonotonicClock.now()
            return .send(batch.text)
        }
        switch step {
        case .idle: break
        case .send(let text): post(text)
        case .begin: begin(channel.newest)
        case .closeBehind(let newest): closeBehind(newest)
        }
    }

    private func closeBehind(_ newest: SequenceNumber) {
        connection.post(SharedText(TimelineMessage.behind(newest: newest).bytes)) { _ in }
        connection.postClose(status: Self.tryAgainLater)
    }

    private func post(_ text: SharedText) {
        connection.post(text) { isSent in
            // This is read before `sendingSince` is reset, because later revisions call `pump` themselves.
            let (newest, id) = (self.channel.newest, self.channel.id)
            let hasMore = self.state.withLock { state in
                state.sendingSince = nil
                if !isSent { state.isOver = true }
                if state.lastSent >= newest { state.hasCaughtUp = true }
                return isSent && (state.lastSent < newest || state.log != id)
            }
            // The next message is sent in a separate iteration, so that a consumer that is far behind does not delay
            // others.
            if hasMore { self.connection.eventLoop.execute { self.pump() } }
        }
    }

    // MARK: Liveness

    func markAlive() {
        let now = MonotonicClock.now()
        state.withLock { $0.lastReceivedAt = now }
    }

    /// Counts a message of the consumer, which should send none. Closes the connection after too many.
    func countMessage() {
        let isTooMuch = state.withLock { state in
            state.unexpectedMessages += 1
            return state.unexpectedMessages == TimelineConsumerLimits.unexpectedMessages
        }
        if isTooMuch { connection.postClose(status: Self.policyViolation) }
    }

    /// Sends a ping. Closes the connection of a consumer that does not respond or receives no messages.
    func check(timeout: TimeSpan, at now: Instant) {
        let isGone = state.withLock { state in
            now - state.lastReceivedAt > timeout || state.sendingSince.map { now - $0 > timeout } ?? false
        }
        if isGone { connection.cut() } else { connection.postPing() }
    }

    func end() { state.withLock { $0.isOver = true } }
}
