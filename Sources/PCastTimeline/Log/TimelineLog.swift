public import PCastCore
import PCastJSON

/// All that was ever said of a game, in the order in which it was recorded. Only grows; what is true at a moment is what
/// ``TimelineGate`` makes of it.
public struct TimelineLog: Sendable {
    public private(set) var revisions: [TimelineRevision] = []
    /// In bytes of JSON.
    public private(set) var byteCount = 0
    /// Places in `revisions`, of each event, and of the game.
    private(set) var history: [TimelineEventID: [Int]] = [:]
    private(set) var infos: [Int] = []
    /// The gate of each revision, at its place in `revisions`.
    private(set) var gates: [WallTime] = []
    /// The same, sorted.
    private var sortedGates: [WallTime] = []
    private let limits: TimelineLimits

    public init(within limits: TimelineLimits = .standard) { self.limits = limits }

    /// Of the newest revision.
    public var newest: SequenceNumber { SequenceNumber(revisions.count) }

    /// The first and the last number; nil where nothing was said yet.
    public var bounds: ClosedRange<SequenceNumber>? {
        revisions.isEmpty ? nil : SequenceNumber(1)...newest
    }

    /// Everything behind a number, the oldest first.
    public func changes(since number: SequenceNumber) -> ArraySlice<TimelineRevision> {
        revisions[min(max(number.value, 0), revisions.count)...]
    }

    public subscript(number: SequenceNumber) -> TimelineRevision? {
        revisions.indices.contains(number.value - 1) ? revisions[number.value - 1] : nil
    }

    /// The moment of the programme from which on a viewer may know of a revision; nil for one that is not here.
    ///
    /// The first revision of an event has the time at which the event happened: it is not before its own picture, and a feed
    /// that is late is late for live viewers alone. Every other one is a correction, also an event that is added again after
    /// it was deleted. A correction has the time at which it was recorded, so that nobody knows it before a live viewer did;
    /// one that moves the event into the future has the event's new time.
    public func gate(of number: SequenceNumber) -> WallTime? {
        gates.indices.contains(number.value - 1) ? gates[number.value - 1] : nil
    }

    private func gate(of revision: TimelineRevision) -> WallTime {
        if let id = revision.eventID, history[id] == nil { return revision.at }
        return max(revision.at, revision.recordedAt)
    }

    // MARK: What is true now, for who may know all

    /// The game as it was described last.
    public var info: GameInfo? { infos.last.flatMap { revisions[$0].info } }

    /// Nil for one that there is not, or not any more.
    public func event(_ id: TimelineEventID) -> GameEvent? { history[id]?.last.flatMap { revisions[$0].event } }

    /// All events, by when they happened, and of one moment by when they were told of first.
    public var events: [GameEvent] {
        history.values.compactMap { places -> (WallTime, Int, GameEvent)? in
            guard let first = places.first, let last = places.last, let event = revisions[last].event else {
                return nil
            }
            return (revisions[last].at, first, event)
        }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    // MARK: When something is due

    /// The first moment behind this one at which something may be told.
    public func firstGate(after moment: WallTime) -> WallTime? {
        let index = Self.firstIndex(in: sortedGates) { $0 > moment }
        return index < sortedGates.count ? sortedGates[index] : nil
    }

    private static func firstIndex(in gates: [WallTime], where isBehind: (WallTime) -> Bool) -> Int {
        var (low, high) = (0, gates.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(gates[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: Growing

    /// Works out what a producer's request makes of the log, which stays as it is: ``append(_:)`` adds it.
    ///
    /// - Parameter now: by the clock of whoever keeps the log.
    /// - Returns: nil for what changes nothing.
    /// - Throws: `TimelineError` for what cannot be done, or has no room.
    public func revision(
        for request: TimelineRequest, at now: WallTime
    ) throws(TimelineError) -> TimelineRevision? {
        if let recordedAt = request.recordedAt, recordedAt > now { throw .recordedInFuture }
        // As it is written: in milliseconds.
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
        let revision = TimelineRevision(number: newest.next, at: at, recordedAt: recordedAt, change: change)
        try checkRoom(revision.bytes.count)
        return revision
    }

    private func change(
        _ id: TimelineEventID, _ event: GameEvent, before present: GameEvent?
    ) throws(TimelineError) -> TimelineRevision.Change? {
        var event = event
        if let own = event.id, own != id.description { throw .otherEvent(own) }
        event.id = id.description
        guard event != present else { return nil }
        return present == nil ? .added(id, event) : .modified(id, event)
    }

    private func checkRoom(_ size: Int) throws(TimelineError) {
        guard size <= limits.enveloped.bytes else { throw .tooLarge(limit: limits.bytes) }
        guard revisions.count < limits.revisions else { throw .full(limit: limits.revisions) }
        guard byteCount + size <= limits.logBytes else { throw .full(limit: limits.logBytes) }
    }

    /// Adds the next revision. One that is here already is passed over.
    ///
    /// - Returns: whether it is new.
    /// - Throws: `TimelineError.gap` when some are missing before it, `full` when there is no room.
    @discardableResult
    public mutating func append(_ revision: TimelineRevision) throws(TimelineError) -> Bool {
        guard revision.number > newest else { return false }
        guard revision.number == newest.next else {
            throw .gap(expected: newest.next.value, got: revision.number.value)
        }
        let size = revision.bytes.count
        try checkRoom(size)
        byteCount += size
        let gate = gate(of: revision)
        if let id = revision.eventID {
            history[id, default: []].append(revisions.count)
        } else {
            infos.append(revisions.count)
        }
        gates.append(gate)
        sortedGates.insert(gate, at: Self.firstIndex(in: sortedGates) { $0 > gate })
        revisions.append(revision)
        return true
    }
}
