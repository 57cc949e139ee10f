import PCastCore

/// The deadlines of all peers. Each peer has one scheduled deadline.
///
/// A peer keeps its own scheduled deadline, beside the state that is accessed at the same time. Its entries with other
/// deadlines are out of date.
struct PeerTimers {
    /// The time by which a deferrable deadline may be served earlier if the thread is awake for another reason.
    let slack: TimeSpan
    private(set) var punctual = DeadlineHeap()
    private(set) var deferrable = DeadlineHeap()

    init(slack: TimeSpan) { self.slack = slack }

    /// The earliest time at which a deadline is due; nil if there is none.
    var deadline: Instant? { Instant.earlier(punctual.first, deferrable.first) }

    /// The earliest time at which a deadline may be served; nil if there is none.
    var earliestDeadline: Instant? { Instant.earlier(punctual.first, deferrable.first.map { $0 - slack }) }

    /// Schedules a peer's deadline if it is earlier than the scheduled one, which is updated.
    mutating func schedule(
        _ peerIndex: PeerIndex, at deadline: Instant, isDeferrable: Bool, instead scheduled: inout Instant?
    ) {
        if let scheduled, scheduled <= deadline { return }
        scheduled = deadline
        if isDeferrable {
            deferrable.insert(deadline, peerIndex)
        } else {
            punctual.insert(deadline, peerIndex)
        }
    }

    /// Removes and returns the next deadline that may be served now; nil if there is none. It may be out of date.
    mutating func pop(until now: Instant) -> (instant: Instant, peerIndex: PeerIndex)? {
        punctual.pop(until: now) ?? deferrable.pop(until: now + slack)
    }

    /// Whether there are too many entries for the number of peers.
    func needsPruning(peerCount: Int) -> Bool {
        max(punctual.count, deferrable.count) > Self.limit(peerCount: peerCount)
    }

    /// Removes the entries that are out of date if there are too many for the number of peers.
    mutating func prune(peerCount: Int, isScheduled: (Instant, PeerIndex) -> Bool) {
        let limit = Self.limit(peerCount: peerCount)
        if punctual.count > limit { punctual.filter(isScheduled) }
        if deferrable.count > limit { deferrable.filter(isScheduled) }
    }

    /// The maximum number of entries of either kind after `prune`.
    static func limit(peerCount: Int) -> Int { 64 + 8 * peerCount }
}

/// A binary heap of instants and peers that yields the earliest deadline.
///
/// An entry is never changed. A peer whose deadline becomes earlier gets another entry, and an entry that is out of
/// date has no effect when it is popped. The owner of the heap removes such entries when there are many.
struct DeadlineHeap {
    private var entries: [(instant: Instant, peerIndex: PeerIndex)] = []

    var first: Instant? { entries.first?.instant }
    var count: Int { entries.count }

    /// Keeps only the entries that the predicate accepts.
    mutating func filter(_ isWanted: (Instant, PeerIndex) -> Bool) {
        let wanted = entries.filter { isWanted($0.instant, $0.peerIndex) }
        entries.removeAll(keepingCapacity: true)
        for entry in wanted { insert(entry.instant, entry.peerIndex) }
    }

    mutating func insert(_ instant: Instant, _ peerIndex: PeerIndex) {
        entries.append((instant, peerIndex))
        var index = entries.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].instant < entries[parent].instant else { break }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    /// Removes and returns the earliest entry that is due; nil if none is due.
    mutating func pop(until now: Instant) -> (instant: Instant, peerIndex: PeerIndex)? {
        guard let first = entries.first, first.instant <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first }
        entries[0] = last
        var index = 0
        while true {
            var child = 2 * index + 1
            if child + 1 < entries.count, entries[child + 1].instant < entries[child].instant { child += 1 }
            guard child < entries.count, entries[child].instant < entries[index].instant else { return first }
            entries.swapAt(index, child)
            index = child
        }
    }
}
