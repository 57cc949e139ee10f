import PCastCore
import PCastWebRTC

/// Peers' places by their paths, looked up in steps, so that several lookups wait for memory together.
///
/// In a dictionary of thousands each lookup waits for a key and for a value before the next has begun. Here a slot of eight
/// bytes tells where an entry lies, and what a step needs is brought near for all of them before the first takes it (see
/// `Prefetch`). Linear probing; at most half of the slots are taken.
struct PathTable {
    struct Entry: Hashable {
        let path: NetworkPath
        var place: PeerIndex
    }

    private struct Slot {
        static let free = Slot(tag: 0, position: .max)

        /// Of the path's hash, which is seeded anew in each process: nobody can choose paths whose slots are neighbours.
        var tag: UInt32
        /// Where the entry lies.
        var position: UInt32

        var isTaken: Bool { position != .max }
    }

    private static let leastSlots = 16

    /// In no order that counts.
    private(set) var entries: [Entry] = []
    /// A power of two; none where there are no entries.
    private var slots: [Slot] = []
    /// What is being looked up: of each path its tag, then where its entry should lie.
    private var sought: [Slot] = []

    subscript(path: NetworkPath) -> PeerIndex? {
        get { slot(of: path).map { entries[Int(slots[$0].position)].place } }
        set {
            if let newValue { note(newValue, of: path) } else { _ = removeValue(forKey: path) }
        }
    }

    private mutating func note(_ place: PeerIndex, of path: NetworkPath) {
        if let slot = slot(of: path) { return entries[Int(slots[slot].position)].place = place }
        if 2 * (entries.count + 1) > slots.count { grow() }
        take(Slot(tag: Self.tag(of: path), position: UInt32(entries.count)))
        entries.append(Entry(path: path, place: place))
    }

    mutating func removeValue(forKey path: NetworkPath) -> PeerIndex? {
        guard let slot = slot(of: path) else { return nil }
        let position = Int(slots[slot].position)
        let place = entries[position].place
        leave(slot)
        let last = entries.removeLast()
        guard !entries.isEmpty else {
            slots = []
            return place
        }
        if position < entries.count {
            entries[position] = last
            slots[self.slot(at: entries.count, from: Self.tag(of: last.path))].position = UInt32(position)
        }
        return place
    }

    /// Looks up several at once.
    ///
    /// - Parameter found: called for each that is there, in their order.
    mutating func look(up paths: Span<NetworkPath>, found: (NetworkPath, PeerIndex) -> Void) {
        guard !entries.isEmpty else { return }
        sought.removeAll(keepingCapacity: true)
        for index in paths.indices { sought.append(Slot(tag: Self.tag(of: paths[index]), position: .max)) }
        slots.withUnsafeBufferPointer { slots in
            for one in sought {
                Prefetch.bring(slots.baseAddress! + home(of: one.tag), MemoryLayout<Slot>.size)
            }
        }
        entries.withUnsafeBufferPointer { entries in
            for index in sought.indices {
                sought[index].position = slots[firstSlot(of: sought[index].tag)].position
                guard sought[index].isTaken else { continue }
                Prefetch.bring(entries.baseAddress! + Int(sought[index].position), MemoryLayout<Entry>.size)
            }
        }
        for index in paths.indices where sought[index].isTaken {
            let path = paths[index]
            let entry = entries[Int(sought[index].position)]
            // Two paths seldom have a tag in common.
            guard let place = entry.path == path ? entry.place : self[path] else { continue }
            found(path, place)
        }
    }

    private static func tag(of path: NetworkPath) -> UInt32 { UInt32(truncatingIfNeeded: path.hashValue) }

    private func home(of tag: UInt32) -> Int { Int(tag) & (slots.count - 1) }

    private func slot(after slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    /// How far a slot is from another before it, around the end.
    private func distance(from first: Int, to slot: Int) -> Int { (slot - first) & (slots.count - 1) }

    private func slot(of path: NetworkPath) -> Int? {
        guard !entries.isEmpty else { return nil }
        let tag = Self.tag(of: path)
        var slot = firstSlot(of: tag)
        while slots[slot].isTaken {
            if slots[slot].tag == tag, entries[Int(slots[slot].position)].path == path { return slot }
            slot = self.slot(after: slot)
        }
        return nil
    }

    /// The first that has the tag, or is free.
    private func firstSlot(of tag: UInt32) -> Int {
        var slot = home(of: tag)
        while slots[slot].isTaken, slots[slot].tag != tag { slot = self.slot(after: slot) }
        return slot
    }

    /// Whose entry lies at a position; it must be there.
    private func slot(at position: Int, from tag: UInt32) -> Int {
        var slot = home(of: tag)
        while slots[slot].position != UInt32(position) {
            precondition(slots[slot].isTaken)
            slot = self.slot(after: slot)
        }
        return slot
    }

    private mutating func take(_ new: Slot) {
        var slot = home(of: new.tag)
        while slots[slot].isTaken { slot = self.slot(after: slot) }
        slots[slot] = new
    }

    /// Those behind it that could not have their own move up, so that no lookup ends before it comes to them.
    private mutating func leave(_ slot: Int) {
        var hole = slot
        var next = self.slot(after: hole)
        while slots[next].isTaken {
            if distance(from: home(of: slots[next].tag), to: next) >= distance(from: hole, to: next) {
                slots[hole] = slots[next]
                hole = next
            }
            next = self.slot(after: next)
        }
        slots[hole] = .free
    }

    private mutating func grow() {
        let taken = slots.filter(\.isTaken)
        slots = Array(repeating: .free, count: max(Self.leastSlots, 2 * slots.count))
        for slot in taken { take(slot) }
    }
}
