internal import PCastCore

/// The packets on a link, ordered by arrival time in a binary heap. Packets with equal times keep the order of
/// insertion.
struct DelayLine<Element> {
    fileprivate struct Entry {
        let instant: Instant
        let number: UInt64
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool {
            left.instant == right.instant ? left.number < right.number : left.instant < right.instant
        }
    }

    private var entries: [Entry] = []
    private var inserted: UInt64 = 0

    var count: Int { entries.count }
    var next: Instant? { entries.first?.instant }

    mutating func insert(_ element: Element, at instant: Instant) {
        entries.append(Entry(instant: instant, number: inserted, element: element))
        inserted += 1
        var index = entries.count - 1
        while index > 0, entries[index] < entries[(index - 1) / 2] {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes and returns the first packet whose arrival time is reached; nil if there is none.
    mutating func pop(until now: Instant) -> Element? {
        guard let first = entries.first, first.instant <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.element }
        entries[0] = last
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
            guard entries[child] < entries[index] else { break }
            entries.swapAt(index, child)
            index = child
        }
        return first.element
    }
}

extension DelayLine: Sendable where Element: Sendable {}
extension DelayLine.Entry: Sendable where Element: Sendable {}
