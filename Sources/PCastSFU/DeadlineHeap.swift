import PCastCore

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
