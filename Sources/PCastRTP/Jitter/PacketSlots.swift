import PCastCore

/// The packets in a jitter buffer: a ring of slots of one size, which are allocated at the beginning.
///
/// The slot of a packet is its sequence number modulo the capacity. The owner ensures that the numbers in use span less
/// than the capacity.
struct PacketSlots: ~Copyable {
    /// A packet without its payload.
    struct Slot {
        var sequence: Int64
        var timestamp: Int64
        var arrival: Instant
        var length: Int
        var marker: Bool
        var start: KeyFrameDetector.PayloadKind

        /// Whether the packet fills its sequence number without adding to a frame.
        var isPadding: Bool { length == 0 }
    }

    /// The number of slots.
    let capacity: Int
    /// The maximum size of a payload in bytes.
    let slotSize: Int
    private let memory: UnsafeMutableRawBufferPointer
    private let slots: UnsafeMutablePointer<Slot?>

    /// The number of packets.
    private(set) var count = 0

    /// The number of packets with which a key frame may begin.
    private(set) var keyFrameStartCount = 0

    /// Creates a ring. `capacity` must be a power of two.
    init(capacity: Int, slotSize: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "the number of slots must be a power of two")
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

    /// Returns the index of a packet's slot.
    private func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }

    /// The packet with a sequence number; nil if it is not present.
    subscript(sequence: Int64) -> Slot? {
        guard let slot = slots[index(sequence)], slot.sequence == sequence else { return nil }
        return slot
    }

    /// Returns whether a packet is present.
    func contains(_ sequence: Int64) -> Bool { slots[index(sequence)]?.sequence == sequence }

    /// Returns the payload of a packet.
    func payload(of slot: Slot) -> UnsafeRawBufferPointer {
        let offset = index(slot.sequence) * slotSize
        return UnsafeRawBufferPointer(rebasing: memory[offset..<offset + slot.length])
    }

    /// Inserts a packet into its slot, which must be free.
    mutating func insert(_ slot: Slot, payload: UnsafeRawBufferPointer) {
        let index = index(slot.sequence)
        precondition(slots[index] == nil && payload.count == slot.length && slot.length <= slotSize)
        UnsafeMutableRawBufferPointer(rebasing: memory[index * slotSize..<(index + 1) * slotSize])
            .copyMemory(from: payload)
        slots[index] = slot
        count += 1
        if slot.start.isKeyFrame { keyFrameStartCount += 1 }
    }

    /// Removes a packet, if it is present.
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
