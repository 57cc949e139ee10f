import PCastMedia

/// What is on its way, by when it arrives: a binary heap, in the order of insertion where instants are equal. It holds
/// so many at most, and refuses further ones as a full queue of a router does.
struct DelayLine<Element> {
    private static var capacity: Int { 16_384 }

    private struct Entry {
        let instant: Instant
        let number: UInt64
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool {
            (left.instant, left.number) < (right.instant, right.number)
        }
    }

    private var entries: [Entry] = []
    private var inserted: UInt64 = 0

    var next: Instant? { entries.first?.instant }

    /// - Returns: false when it is full.
    mutating func insert(_ element: Element, at instant: Instant) -> Bool {
        guard entries.count < Self.capacity else { return false }
        entries.append(Entry(instant: instant, number: inserted, element: element))
        inserted += 1
        var index = entries.count - 1
        while index > 0, entries[index] < entries[(index - 1) / 2] {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
        return true
    }

    /// Removes and answers the first whose instant has come.
    mutating func pop(until now: Instant) -> Element? {
        guard let first = entries.first, first.instant <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.element }
        entries[0] = last
        var index = 0
        while let child = [2 * index + 1, 2 * index + 2].filter({ $0 < entries.count })
            .min(by: { entries[$0] < entries[$1] }), entries[child] < entries[index]
        {
            entries.swapAt(index, child)
            index = child
        }
        return first.element
    }
}
