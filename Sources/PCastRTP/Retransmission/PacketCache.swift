public import PCastMedia

/// The last packets of one stream in memory of a fixed size, to be sent again or to a viewer who joins.
///
/// A relay keeps one for each track and all of its viewers, by the publisher's numbers; headers are written anew for
/// each viewer beside the shared payload, which nobody changes (RTP13). A packet more than `capacity` behind the
/// newest, or larger than a slot, is not kept; a new packet takes the place of the one `capacity` before it.
public struct PacketCache: ~Copyable {
    /// What is kept of a packet beside its payload.
    public struct Packet: Hashable, Sendable {
        /// Unwrapped.
        public var sequence: Int64
        /// As it was received or first sent.
        public var timestamp: UInt32
        public var marker: Bool
        public var payloadType: UInt8
        /// The packet begins a key frame: who joins starts here.
        public var startsKeyFrame: Bool
        public var arrival: Instant
        /// The extensions that travel with the packet from hop to hop.
        public var extensions: RTPExtensionValues

        public init(
            sequence: Int64, timestamp: UInt32, marker: Bool, payloadType: UInt8, startsKeyFrame: Bool = false,
            arrival: Instant, extensions: RTPExtensionValues = RTPExtensionValues()
        ) {
            self.sequence = sequence
            self.timestamp = timestamp
            self.marker = marker
            self.payloadType = payloadType
            self.startsKeyFrame = startsKeyFrame
            self.arrival = arrival
            self.extensions = extensions
        }
    }

    private struct Slot {
        var packet: Packet
        var size: Int
    }

    /// The largest payload that the default slot takes: 1200 bytes and the RTX number, rounded up.
    public static let defaultSlotSize = 1232

    /// Packets that there is room for.
    public let capacity: Int
    /// The largest payload kept, in bytes.
    public let slotSize: Int

    /// The newest number kept; nil when empty.
    public private(set) var newest: Int64?

    /// Packets not kept, for their size or their age.
    public private(set) var rejected = 0

    private var keyFrame: Int64?
    private let slots: UnsafeMutablePointer<Slot?>
    private let payloads: UnsafeMutableRawBufferPointer

    /// `capacity` is a power of two.
    public init(capacity: Int = 1024, slotSize: Int = Self.defaultSlotSize) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "the capacity is a power of two")
        precondition(slotSize > 0)
        self.capacity = capacity
        self.slotSize = slotSize
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: nil, count: capacity)
        payloads = .allocate(byteCount: capacity * slotSize, alignment: 16)
    }

    deinit {
        slots.deinitialize(count: capacity)
        slots.deallocate()
        payloads.deallocate()
    }

    /// Copies a packet in, and answers whether it is kept.
    @discardableResult
    public mutating func insert(_ packet: Packet, payload: UnsafeRawBufferPointer) -> Bool {
        let oldest = newest.map { $0 - Int64(capacity) + 1 } ?? packet.sequence
        guard payload.count <= slotSize, packet.sequence >= oldest else {
            rejected += 1
            return false
        }
        let index = slot(of: packet.sequence)
        slots[index] = Slot(packet: packet, size: payload.count)
        UnsafeMutableRawBufferPointer(rebasing: payloads[index * slotSize..<index * slotSize + payload.count])
            .copyMemory(from: payload)
        newest = max(newest ?? packet.sequence, packet.sequence)
        if packet.startsKeyFrame { keyFrame = max(keyFrame ?? packet.sequence, packet.sequence) }
        return true
    }

    /// What is kept of a packet; nil when it is not.
    public func packet(_ sequence: Int64) -> Packet? {
        guard isWithinReach(sequence), let slot = slots[slot(of: sequence)], slot.packet.sequence == sequence else {
            return nil
        }
        return slot.packet
    }

    /// The payload of a packet that is kept; valid until the next change of the cache.
    public func payload(_ sequence: Int64) -> UnsafeRawBufferPointer? {
        let index = slot(of: sequence)
        guard isWithinReach(sequence), let slot = slots[index], slot.packet.sequence == sequence else { return nil }
        return UnsafeRawBufferPointer(rebasing: payloads[index * slotSize..<index * slotSize + slot.size])
    }

    /// The first number kept that is not before `sequence`; nil when there is none. Repeating it with the next number
    /// walks to the newest.
    public func firstSequence(from sequence: Int64) -> Int64? {
        guard let newest, sequence <= newest else { return nil }
        var candidate = max(sequence, newest - Int64(capacity) + 1)
        while candidate <= newest {
            if packet(candidate) != nil { return candidate }
            candidate += 1
        }
        return nil
    }

    /// Where the newest key frame begins; nil when none is kept.
    public var newestKeyFrame: Int64? { keyFrame.flatMap { packet($0) == nil ? nil : $0 } }

    /// Forgets all: the source started over (RTP11).
    public mutating func removeAll() {
        for index in 0..<capacity { slots[index] = nil }
        newest = nil
        keyFrame = nil
    }

    private func isWithinReach(_ sequence: Int64) -> Bool {
        guard let newest else { return false }
        return sequence <= newest && sequence > newest - Int64(capacity)
    }

    private func slot(of sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }
}
