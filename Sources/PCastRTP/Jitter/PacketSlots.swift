import PCastMedia

/// The packets that wait in a jitter buffer: a ring of slots of one size, all allocated at the beginning.
///
/// The slot of a sequence number is its remainder by the capacity, so the numbers held at one time span less than
/// the capacity; that is the owner's to keep.
struct PacketSlots: ~Copyable {
    struct Slot {
        var sequence: Int64
        var timestamp: Int64
        var arrival: Instant
        var length: Int
        var marker: Bool
        var start: KeyFrameDetector.Finding

        /// Fills its number without adding to a frame.
        var isPadding: Bool { length == 0 }
    }

    let capacity: Int
    let slotSize: Int
    private let memory: UnsafeMutableRawBufferPointer
    private let slots: UnsafeMutablePointer<Slot?>

    /// Slots in use.
    private(set) var count = 0

    /// Slots in use with which a key frame may begin.
    private(set) var keyFrameStartCount = 0

    /// - Parameter capacity: a power of two.
    init(capacity: Int, slotSize: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a ring of slots is a power of two")
        self.capacity = capacity
        self.slotSize = slotSize
        memory = .allocate(byteCount: capacity * slotSize, alignment: 64)
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: nil, count: capacity)
    }

    deinit {
        memory.deallocate()
        slots.deallocate()
    }

    private func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }

    /// The packet of that number; nil when it is not here.
    subscript(sequence: Int64) -> Slot? {
        guard let slot = slots[index(sequence)], slot.sequence == sequence else { return nil }
        return slot
    }

    func contains(_ sequence: Int64) -> Bool { slots[index(sequence)]?.sequence == sequence }

    func payload(of slot: Slot) -> UnsafeRawBufferPointer {
        let offset = index(slot.sequence) * slotSize
        return UnsafeRawBufferPointer(rebasing: memory[offset..<offset + slot.length])
    }

    /// Puts a packet into its slot, which is free.
    mutating func insert(_ slot: Slot, payload: UnsafeRawBufferPointer) {
        let index = index(slot.sequence)
        precondition(slots[index] == nil && payload.count == slot.length && slot.length <= slotSize)
        UnsafeMutableRawBufferPointer(rebasing: memory[index * slotSize..<(index + 1) * slotSize])
            .copyMemory(from: payload)
        slots[index] = slot
        count += 1
        if slot.start.isKeyFrame { keyFrameStartCount += 1 }
    }

    /// Frees the slot of that number, if it is in use.
    mutating func remove(_ sequence: Int64) {
        let index = index(sequence)
        guard let slot = slots[index], slot.sequence == sequence else { return }
        slots[index] = nil
        count -= 1
        if slot.start.isKeyFrame { keyFrameStartCount -= 1 }
    }

    mutating func removeAll() {
        slots.update(repeating: nil, count: capacity)
        count = 0
        keyFrameStartCount = 0
    }
}
