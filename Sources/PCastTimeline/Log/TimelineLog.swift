public import PCastCore
import PCastJSON

/// The revisions of a game in the order of their recording. The log is append-only. ``TimelineGate`` determines the
/// revisions that apply at a position.
package struct TimelineLog: Sendable {
    /// The revisions.
    package private(set) var revisions: [TimelineRevision] = []
    /// The size of all revisions in bytes of JSON.
    package private(set) var byteCount = 0
    /// The indices in `revisions` of each event's revisions.
    private(set) var history: [TimelineEventID: [Int]] = [:]
    /// The indices in `revisions` of the game's descriptions.
    private(set) var infos: [Int] = []
    /// The gate of each revision, at the index of the revision.
    private(set) var gates: [WallTime] = []
    /// The numbers of the revisions by the identifiers of their origins.
    private(set) var numbers: [String: SequenceNumber] = [:]
    /// The gates in order.
    private var sortedGates: [WallTime] = []
    private let limits: TimelineLimits

    /// Creates an empty log.
    package init(within limits: TimelineLimits = .standard) { self.limits = limits }

    /// The number of the newest revision; 0 if there is none.
    package var newest: SequenceNumber { SequenceNumber(revisions.count) }

    /// The numbers of the first and the last revision; nil if there is none.
    package var bounds: ClosedRange<SequenceNumber>? {
        revisions.isEmpty ? nil : SequenceNumber(1)...newest
    }

    /// Returns the revisions after a number, the oldest first.
    package func changes(since number: SequenceNumber) -> ArraySlice<TimelineRevision> {
        revisions[min(max(number.value, 0), revisions.count)...]
    }

    /// The revision with a number; nil if there is none.
    package subscript(number: SequenceNumber) -> TimelineRevision? {
        revisions.indices.contains(number.value - 1) ? revisions[number.value - 1] : nil
    }

    /// Returns the time of the program from which a revision may be delivered; nil if there is no such revision.
    ///
    /// The gate of an event's first revision is the time at which the event happened. It is not before its own frame,
    /// and a late feed is late only for live viewers. All others are corrections, including an event that is added
    /// again after it was deleted. The gate of a correction is the time of its recording, so that no viewer sees it
    /// before a live viewer did. If the correction moves the event to the future, the gate is the new time.
    ///
    /// - Parameter number: The number of the revision.
    /// - Returns: The gate; nil if there is no such revision.
    package func gate(of number: SequenceNumber) -> WallTime? {
        gates.indices.contains(number.value - 1) ? gates[number.value - 1] : nil
    }

    /// Returns the gate of the next revision.
    private func gate(of revision: TimelineRevision) -> WallTime {
        if let id = revision.eventID, history[id] == nil { return revision.at }
        return max(revision.at, revision.recordedAt)
    }

    // MARK: Present state

    /// The latest description of the game; nil if there is none.
    package var info: GameInfo? { infos.last.flatMap { revisions[$0].info } }

    /// Returns the latest state of an event; nil if there is none, or if it was deleted.
    package func event(_ id: TimelineEventID) -> GameEvent? { history[id]?.last.flatMap { revisions[$0].event } }

    /// All events in the order in which they happened. Events of the same time are in the order of their first
    /// revisions.
    package var events: [GameEvent] {
        history.values.compactMap { places -> (WallTime, Int, GameEvent)? in
            guard let first = places.first, let last = places.last, let event = revisions[last].event else {
                return nil
            }
            return (revisions[last].at, first, event)
        }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    // MARK: Gates

    /// Returns the first gate after a time; nil if there is none.
    package func firstGate(after moment: WallTime) -> WallTime? {
        let index = Self.firstIndex(in: sortedGates) { $0 > moment }
        return index < sortedGates.count ? sortedGates[index] : nil
    }

    /// Returns the index of the first gate that satisfies the condition, by binary search.
    private static func firstIndex(in gates: [WallTime], where isBehind: (WallTime) -> Bool) -> Int {
        var (low, high) = (0, gates.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(gates[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: Changes

    /// Returns a log with the revisions up to a number.
    func prefix(_ number: SequenceNumber) -> TimelineLog {
        var log = TimelineLog(within: limits)
        for revision in revisions.prefix(max(number.value, 0)) {
            guard (try? log.append(revision)) == true else { preconditionFailure("revisions of a log are in order") }
        }
        return log
    }

    /// Returns the revision that a producer's request results in. The log does not change; ``append(_:)`` adds the
    /// revision.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - origin: The identifier of the request in a cluster; nil for none.
    ///   - now: The current time by the clock of the service that keeps the log.
    /// - Returns: The revision; nil if the request changes nothing.
    /// - Throws: ``TimelineError`` if the request is invalid or there is no space.
    package func revision(
        for request: TimelineRequest, origin: String? = nil, at now: WallTime
    ) throws(TimelineError) -> TimelineRevision? {
        if let recordedAt = request.recordedAt, recordedAt > now { throw .recordedInFuture }
        // JSON has whole milliseconds.
        let recordedAt = WallTime(millisecondsSinceEpoch: (request.recordedAt ?? now).millisecondsSinceEpoch)
        let (at, change): (WallTime, TimelineRevision.Change)
        switch request.change {
        case .info(let info):
            guard info != self.info else { return nil }
            (at, change) = (info.moment ?? recordedAt, .info(info))
        case .put(let id, let event):
            guard let next = try self.change(id, event, before: self.event(id)) else { return nil }
            (at, change) = (event.moment ?? recordedAt, next)
        case .patch(let id, let patch):
            guard let present = self.event(id) else { throw .noEvent(id.description) }
            let event = GameEvent(present.object.merged(with: patch))
            try event.check()
            guard let next = try self.change(id, event, before: present) else { return nil }
            (at, change) = (event.moment ?? recordedAt, next)
        case .delete(let id):
            guard self.event(id) != nil else { throw .noEvent(id.description) }
            (at, change) = (recordedAt, .deleted(id))
        }
        let revision = TimelineRevision(
            number: newest.next, at: at, recordedAt: recordedAt, change: change, origin: origin)
        try checkSpace(revision.bytes.count)
        return revision
    }

    /// Returns the change that puts an event; nil if it is equal to the present one. Throws an error if the event has
    /// another ID.
    private func change(
        _ id: TimelineEventID, _ event: GameEvent, before present: GameEvent?
    ) throws(TimelineError) -> TimelineRevision.Change? {
        var event = event
        if let own = event.id, own != id.description { throw .otherEvent(own) }
        event.id = id.description
        guard event != present else { return nil }
        return present == nil ? .added(id, event) : .modified(id, event)
    }

    /// Throws an error if a revision is too large, or if the log has no space for it.
    private func checkSpace(_ size: Int) throws(TimelineError) {
        guard size <= limits.enveloped.bytes else { throw .tooLarge(limit: limits.bytes) }
        guard revisions.count < limits.revisions else { throw .full(limit: limits.revisions) }
        guard byteCount + size <= limits.logBytes else { throw .full(limit: limits.logBytes) }
    }

    /// Whether revisions are the next ones, and there is space for them.
    package func hasSpace(for next: [TimelineRevision]) -> Bool {
        var (number, size) = (newest, byteCount)
        for revision in next {
            let bytes = revision.bytes.count
            (number, size) = (number.next, size + bytes)
            guard revision.number == number, bytes <= limits.enveloped.bytes else { return false }
        }
        return number.value <= limits.revisions && size <= limits.logBytes
    }

    /// Adds the next revision. A revision that is already in the log is ignored.
    ///
    /// - Parameter revision: The revision.
    /// - Returns: Whether the revision is new.
    /// - Throws: ``TimelineError/gap(expected:got:)`` if an earlier revision is missing, ``TimelineError/full(limit:)``
    ///   if there is no space, and ``TimelineError/tooLarge(limit:)`` for a revision that is too large.
    @discardableResult
    package mutating func append(_ revision: TimelineRevision) throws(TimelineError) -> Bool {
        guard revision.number > newest else { return false }
        guard revision.number == newest.next else {
            throw .gap(expected: newest.next.value, got: revision.number.value)
        }
        let size = revision.bytes.count
        try checkSpace(size)
        byteCount += size
        let gate = gate(of: revision)
        if let id = revision.eventID {
            history[id, default: []].append(revisions.count)
        } else {
            infos.append(revisions.count)
        }
        if let origin = revision.origin { numbers[origin] = revision.number }
        gates.append(gate)
        sortedGates.insert(gate, at: Self.firstIndex(in: sortedGates) { $0 > gate })
        revisions.append(revision)
        return true
    }
}

/// A change of a timeline, as it is recorded in the log.
public struct TimelineRevision: Hashable, Sendable {
    /// The recorded change.
    public enum Change: Hashable, Sendable {
        /// The game has another description.
        case info(GameInfo)
        /// An event was added.
        case added(TimelineEventID, GameEvent)
        /// An event was modified.
        case modified(TimelineEventID, GameEvent)
        /// An event was deleted.
        case deleted(TimelineEventID)
    }

    /// The number of the revision in its log.
    public var number: SequenceNumber
    /// The time at which the event happened.
    public var at: WallTime
    /// The time of recording in the feed.
    public var recordedAt: WallTime
    /// The recorded change.
    public var change: Change
    /// The identifier of the request in a cluster, so that it results in one revision only; nil for none.
    public var origin: String?

    /// Creates a revision.
    public init(
        number: SequenceNumber, at: WallTime, recordedAt: WallTime, change: Change, origin: String? = nil
    ) {
        (self.number, self.at, self.recordedAt, self.change) = (number, at, recordedAt, change)
        self.origin = origin
    }

    /// The ID of the event; nil for a description of the game.
    public var eventID: TimelineEventID? {
        switch change {
        case .info: nil
        case .added(let id, _), .modified(let id, _), .deleted(let id): id
        }
    }

    /// The event after the change; nil if it was deleted, and for a description of the game.
    public var event: GameEvent? {
        switch change {
        case .added(_, let event), .modified(_, let event): event
        case .info, .deleted: nil
        }
    }

    /// The description of the game; nil for an event.
    public var info: GameInfo? { if case .info(let info) = change { info } else { nil } }
}
