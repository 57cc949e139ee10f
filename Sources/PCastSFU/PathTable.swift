import PCastCore
import PCastWebRTC

/// A hash table from paths to peers that looks up several paths in steps, so that their memory accesses overlap.
///
/// In a dictionary each lookup waits for memory twice before the next lookup begins. Here a slot of eight bytes refers
/// to an entry, and each step prefetches the memory for all paths (see `Prefetch`). The table uses linear probing, and
/// at most half of the slots are used.
struct PathTable {
    struct Entry: Hashable {
        let path: NetworkPath
        var peerIndex: PeerIndex
    }

    private struct Slot {
        static let free = Slot(tag: 0, position: .max)

        /// The low bits of the path's hash. The hash has a random seed in each process, so nobody can choose paths that
        /// collide.
        var tag: UInt32
        /// The index of the entry.
        var position: UInt32

        var isOccupied: Bool { position != .max }
    }

    private static let minimumSlots = 16

    /// The entries, in no meaningful order.
    private(set) var entries: [Entry] = []
    /// The slots. Their number is a power of two, or zero without entries.
    private var slots: [Slot] = []
    /// The paths of the current lookup: each has its tag, and then the index of its possible entry.
    private var lookups: [Slot] = []

    subscript(path: NetworkPath) -> PeerIndex? {
        get { slot(of: path).map { entries[Int(slots[$0].position)].peerIndex } }
        set {
            if let newValue { note(newValue, of: path) } else { _ = removeValue(forKey: path) }
        }
    }

    private mutating func note(_ peerIndex: PeerIndex, of path: NetworkPath) {
        if let slot = slot(of: path) { return entries[Int(slots[slot].position)].peerIndex = peerIndex }
        if 2 * (entries.count + 1) > slots.count { grow() }
        take(Slot(tag: Self.tag(of: path), position: UInt32(entries.count)))
        entries.append(Entry(path: path, peerIndex: peerIndex))
    }

    mutating func removeValue(forKey path: NetworkPath) -> PeerIndex? {
        guard let slot = slot(of: path) else { return nil }
        let position = Int(slots[slot].position)
        let peerIndex = entries[position].peerIndex
        removeSlot(slot)
        let last = entries.removeLast()
        guard !entries.isEmpty else {
            slots = []
            return peerIndex
        }
        if position < entries.count {
            entries[position] = last
            slots[self.slot(at: entries.count, from: Self.tag(of: last.path))].position = UInt32(position)
        }
        return peerIndex
    }

    /// Looks up several paths at once. `found` is called for each known path, in their order.
    mutating func look(up paths: Span<NetworkPath>, found: (NetworkPath, PeerIndex) -> Void) {
        guard !entries.isEmpty else { return }
        lookups.removeAll(keepingCapacity: true)
        for index in paths.indices { lookups.append(Slot(tag: Self.tag(of: paths[index]), position: .max)) }
        let slotMemory = AddressRange(elementsOf: slots, count: slots.count)
        for one in lookups {
            let offset = home(of: one.tag) * MemoryLayout<Slot>.stride
            Prefetch.fetch(slotMemory.dropping(offset).prefix(MemoryLayout<Slot>.size))
        }
        let entryMemory = AddressRange(elementsOf: entries, count: entries.count)
        for index in lookups.indices {
            lookups[index].position = slots[firstSlot(of: lookups[index].tag)].position
            guard lookups[index].isOccupied else { continue }
            let offset = Int(lookups[index].position) * MemoryLayout<Entry>.stride
            Prefetch.fetch(entryMemory.dropping(offset).prefix(MemoryLayout<Entry>.size))
        }
        for index in paths.indices where lookups[index].isOccupied {
            let path = paths[index]
            let entry = entries[Int(lookups[index].position)]
            // Two paths rarely have the same tag.
            guard let peerIndex = entry.path == path ? entry.peerIndex : self[path] else { continue }
            found(path, peerIndex)
        }
    }

    private static func tag(of path: NetworkPath) -> UInt32 { UInt32(truncatingIfNeeded: path.hashValue) }

    private func home(of tag: UInt32) -> Int { Int(tag) & (slots.count - 1) }

    private func slot(after slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    /// The distance from a slot to a later one, with wrap-around.
    private func distance(from first: Int, to slot: Int) -> Int { (slot - first) & (slots.count - 1) }

    private func slot(of path: NetworkPath) -> Int? {
        guard !entries.isEmpty else { return nil }
        let tag = Self.tag(of: path)
        var slot = firstSlot(of: tag)
        while slots[slot].isOccupied {
            if slots[slot].tag == tag, entries[Int(slots[slot].position)].path == path { return slot }
            slot = self.slot(after: slot)
        }
        return nil
    }

    /// Returns the first slot from the tag's home slot on that has the tag or is free.
    private func firstSlot(of tag: UInt32) -> Int {
        var slot = home(of: tag)
        while slots[slot].isOccupied, slots[slot].tag != tag { slot = self.slot(after: slot) }
        return slot
    }

    /// Returns the slot that refers to an index. The slot must exist.
    private func slot(at position: Int, from tag: UInt32) -> Int {
        var slot = home(of: tag)
        while slots[slot].position != UInt32(position) {
            precondition(slots[slot].isOccupied)
            slot = self.slot(after: slot)
        }
        return slot
    }

    private mutating func take(_ new: Slot) {
        var slot = home(of: new.tag)
        while slots[slot].isOccupied { slot = self.slot(after: slot) }
        slots[slot] = new
    }

    /// Frees a slot. Later slots of the same run move up if they are not at their home slot, so that no lookup ends
    /// early.
    private mutating func removeSlot(_ slot: Int) {
        var hole = slot
        var next = self.slot(after: hole)
        while slots[next].isOccupied {
            if distance(from: home(of: slots[next].tag), to: next) >= distance(from: hole, to: next) {
                slots[hole] = slots[next]
                hole = next
            }
            next = self.slot(after: next)
        }
        slots[hole] = .free
    }

    private mutating func grow() {
        let occupied = slots.filter(\.isOccupied)
        slots = Array(repeating: .free, count: max(Self.minimumSlots, 2 * slots.count))
        for slot in occupied { take(slot) }
    }
}

/// Finds the peer to which a network path belongs.
///
/// The paths of the datagrams of a batch are looked up together, and each path once. A table with thousands of entries
/// does not fit into the faster caches.
struct PathIndex {
    private(set) var table = PathTable()
    /// The results for the datagrams that follow, in their order. They are discarded when an entry changes.
    private var expected: [PathTable.Entry] = []
    private var next = 0

    subscript(path: NetworkPath) -> PeerIndex? {
        get { table[path] }
        set {
            table[path] = newValue
            removeExpected()
        }
    }

    mutating func removeValue(forKey path: NetworkPath) -> PeerIndex? {
        removeExpected()
        return table.removeValue(forKey: path)
    }

    /// Looks up the paths of the datagrams that follow and forgets the results of earlier calls. `known` is called for
    /// each path that belongs to a peer.
    mutating func expect(from paths: Span<NetworkPath>, known: (PeerIndex) -> Void) {
        removeExpected()
        var found: [PathTable.Entry] = []
        swap(&found, &expected)
        table.look(up: paths) { path, peerIndex in
            found.append(PathTable.Entry(path: path, peerIndex: peerIndex))
            known(peerIndex)
        }
        swap(&found, &expected)
    }

    /// Returns the peer of a datagram that arrived; nil if the path is unknown.
    mutating func findPeer(of path: NetworkPath) -> PeerIndex? {
        for index in next..<expected.count where expected[index].path == path {
            next = index + 1
            return expected[index].peerIndex
        }
        return table[path]
    }

    private mutating func removeExpected() {
        expected.removeAll(keepingCapacity: true)
        next = 0
    }
}
