public import PCastCore

/// The packets of a track in the order of their arrival in a fixed amount of memory. They are forwarded, retransmitted,
/// and sent to new viewers from here.
///
/// The order is that of arrival rather than of sequence numbers, because a packet that was lost and then retransmitted
/// is forwarded when it arrives. Each outgoing stream has a position in the log, so that one copy of the payload serves
/// all of them and none has a queue. When the log is full, the oldest packet is overwritten. A stream that has not sent
/// it is ``capacity`` packets behind, and begins again at a key frame.
///
/// Parameter sets that a key frame lacks have entries without a sequence number. They are only sent to viewers that
/// begin with this key frame (``parameterSets(ofKeyFrameAt:)``).
///
/// It is marked `@safe` for these reasons. It owns its memory until `deinit`. The index of a position is reduced by
/// ``mask``, so that it is below ``capacity``, and ``address(of:)`` checks that the entry was appended. A reference or a
/// payload is valid until the log changes, and its users have the log borrowed until then. The log has one owner.
@safe
public struct PacketLog: ~Copyable {
    /// A packet without its payload.
    public struct Entry: Sendable {
        /// The source's sequence number, unwrapped.
        public var sequence: Int64
        /// The source's timestamp.
        public var timestamp: UInt32
        /// The marker bit.
        public var marker: Bool
        /// Whether a decoder can begin here with a key frame and its parameter sets.
        public var startsKeyFrame: Bool
        /// The number of packets since the key frame to which a skipped leading frame of H.265 belongs, limited to 16
        /// bits; 0 for all other packets.
        package var leadingDistance: UInt16
        /// The layers of the frame to which the packet belongs.
        package var layers: FrameLayers
        /// The dependency descriptor; set when the packet is appended.
        package internal(set) var descriptor = LoggedDescriptor.none
        /// The time at which the packet arrived or was created.
        public var arrival: Instant
        /// The size of the payload in bytes.
        public var length: Int
        /// Whether ``forwarded`` contains an element.
        let isForwarding: Bool
        /// The size of the payloads of all preceding packets in bytes.
        @usableFromInline
        var payloadBefore: Int64 = 0
        /// The header extension elements that are forwarded unchanged.
        package let forwarded: RTPExtensionValues

        /// The sequence number of an entry that is not a packet of the source. It is lower than any other, so that
        /// outgoing streams skip it, but has no risk of overflow.
        static let unnumbered: Int64 = -(1 << 48)

        /// Creates an entry.
        package init(
            sequence: Int64, timestamp: UInt32, marker: Bool, startsKeyFrame: Bool, arrival: Instant,
            length: Int = 0, leadingDistance: UInt16 = 0, layers: FrameLayers = .unknown,
            forwarded: RTPExtensionValues = RTPExtensionValues()
        ) {
            self.sequence = sequence
            self.timestamp = timestamp
            self.marker = marker
            self.startsKeyFrame = startsKeyFrame
            self.leadingDistance = leadingDistance
            self.layers = layers
            self.arrival = arrival
            self.length = length
            self.forwarded = forwarded
            isForwarding = forwarded.isForwarding
        }

        /// Returns whether the packet belongs to a leading frame that refers to frames before a sequence number with
        /// which a receiver begins, so that it cannot decode the frame (ITU-T H.265, section 3.111).
        @inline(__always)
        package func leads(to first: Int64) -> Bool {
            leadingDistance != 0 && sequence - Int64(leadingDistance) <= first
        }
    }

    /// The maximum size of a payload in bytes; larger ones do not fit in a datagram and are rejected.
    package static let maximumPayloadSize = 1472

    /// The number of packets in the log, a power of two.
    public internal(set) var capacity: Int
    /// The bits of the index of a position.
    @usableFromInline
    var mask: Int64
    /// The entries by the low bits of their positions.
    @usableFromInline
    var entries: UnsafeMutablePointer<Entry>
    /// The memory of the payloads.
    private var payloads: UnsafeMutableRawPointer
    /// The position of the packet with each sequence number modulo ``capacity``.
    private var positions: UnsafeMutablePointer<Int64>

    /// The position after the newest packet. Positions begin at 0 and never wrap around.
    public internal(set) var end: Int64 = 0
    /// The decode targets of the source's structures, to which the descriptors of the entries refer.
    package private(set) var decodeTargets = DecodeTargets()
    /// The total size of all payloads that were appended in bytes.
    @usableFromInline
    var payloadTotal: Int64 = 0

    /// The position of the newest key frame; nil if it is no longer in the log.
    package var newestKeyFrame: Int64? { keyFrame >= start ? keyFrame : nil }
    /// Whether a key frame was appended and not discarded. It may no longer be in the log.
    package var hasHadKeyFrame: Bool { keyFrame >= 0 }
    /// The position of the newest key frame, which may no longer be in the log; -1 for none.
    private var keyFrame: Int64 = -1
    /// The timestamp of the newest key frame.
    private var keyFrameTimestamp: UInt32 = 0
    /// The positions of the parameter sets that the newest key frame lacks; empty if it lacks none.
    private var keyFrameSets: Range<Int64> = 0..<0

    /// The highest sequence number that was appended; nil before the first.
    package private(set) var newestSequence: Int64?

    /// Creates an empty log.
    ///
    /// - Parameter capacity: The number of packets, a power of two.
    package init(capacity: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "the capacity must be a power of two")
        self.capacity = capacity
        mask = Int64(capacity - 1)
        unsafe entries = .allocate(capacity: capacity)
        unsafe payloads = .allocate(byteCount: capacity * Self.maximumPayloadSize, alignment: 16)
        unsafe positions = .allocate(capacity: capacity)
        unsafe positions.initialize(repeating: -1, count: capacity)
    }

    deinit {
        unsafe entries.deallocate()
        unsafe payloads.deallocate()
        unsafe positions.deallocate()
    }

    /// Whether the newest key frame, or a parameter set that it needs, is overwritten by one of the next few packets.
    package var losesKeyFrameNext: Bool {
        guard keyFrame >= start else { return false }
        let first = keyFrameSets.isEmpty ? keyFrame : min(keyFrame, keyFrameSets.lowerBound)
        return first - start < Self.fewPackets && end - first >= Int64(capacity) - Self.fewPackets
    }

    /// More packets than are appended between two reads of ``losesKeyFrameNext``.
    private static let fewPackets: Int64 = 16

    /// Doubles the capacity. All packets and their positions remain.
    package mutating func grow() {
        let oldMask = mask
        let oldEntries = unsafe entries
        let oldPayloads = unsafe payloads
        // Older positions have no entries, because an earlier growth may not be filled yet.
        oldest = start
        unsafe positions.deallocate()
        capacity *= 2
        mask = Int64(capacity - 1)
        unsafe entries = .allocate(capacity: capacity)
        unsafe payloads = .allocate(byteCount: capacity * Self.maximumPayloadSize, alignment: 16)
        unsafe positions = .allocate(capacity: capacity)
        unsafe positions.initialize(repeating: -1, count: capacity)
        for position in oldest..<end {
            let entry = unsafe oldEntries[Int(position & oldMask)]
            unsafe (entries + Int(position & mask)).initialize(to: entry)
            let payload = unsafe oldPayloads + Int(position & oldMask) * Self.maximumPayloadSize
            unsafe slot(position).copyMemory(
                from: ByteView(
                    UnsafeRawBufferPointer(start: payload, count: entry.length + entry.descriptor.storedSize)))
            if entry.sequence != Entry.unnumbered { unsafe positions[Int(entry.sequence & mask)] = position }
        }
        unsafe oldEntries.deallocate()
        unsafe oldPayloads.deallocate()
    }

    /// The position of the oldest packet that has been kept since the log grew.
    @usableFromInline
    var oldest: Int64 = 0

    /// The position of the oldest packet.
    @inlinable @inline(__always)
    public var start: Int64 { max(oldest, end - Int64(capacity)) }

    /// Returns the memory of the payload at a position.
    private func slot(_ position: Int64) -> MutableByteView {
        let offset = Int(position & mask) * Self.maximumPayloadSize
        return unsafe MutableByteView(
            UnsafeMutableRawBufferPointer(start: payloads + offset, count: Self.maximumPayloadSize))
    }

    /// Discards the newest key frame, because the source has restarted.
    package mutating func discardKeyFrame() { keyFrame = -1 }

    /// Marks the beginning of the newest key frame.
    ///
    /// - Parameters:
    ///   - position: The position of its first packet.
    ///   - sets: The positions of the parameter sets that it lacks, which were appended without a sequence number.
    mutating func noteKeyFrame(at position: Int64, sets: Range<Int64> = 0..<0) {
        precondition(position >= start && position < end, "there must be a packet at the position")
        unsafe entries[Int(position & mask)].startsKeyFrame = true
        keyFrame = position
        keyFrameTimestamp = unsafe entries[Int(position & mask)].timestamp
        keyFrameSets = sets
    }

    /// Returns the positions of the parameter sets that are sent before the key frame at a position; nil if it needs
    /// none or is not the newest one.
    package func parameterSets(ofKeyFrameAt position: Int64) -> Range<Int64>? {
        guard position == keyFrame, !keyFrameSets.isEmpty, keyFrameSets.lowerBound >= start else { return nil }
        return keyFrameSets
    }

    /// Appends an entry that is not a packet of the source; streams only send it by its position. Returns the position;
    /// nil if the payload is too large.
    package mutating func appendUnnumbered(
        timestamp: UInt32, arrival: Instant, payload: ByteView
    ) -> Int64? {
        append(
            Entry(
                sequence: Entry.unnumbered, timestamp: timestamp, marker: false, startsKeyFrame: false,
                arrival: arrival), payload: payload)
    }

    /// Returns whether a packet can be appended: its sequence number is not in the log, and not so old that it could
    /// have been overwritten. SRTP forbids sending a number twice (RFC 3711, section 9.1).
    package func accepts(sequence: Int64) -> Bool {
        if let newestSequence, sequence <= newestSequence - Int64(capacity / 2) { return false }
        return position(ofSequence: sequence) == nil
    }

    /// Returns the memory for the payload of the next packet, which is valid until that is appended.
    package func bufferForNext() -> MutableByteView { slot(end) }

    /// Appends a packet whose payload was written into ``bufferForNext()``, and returns its position.
    @discardableResult
    package mutating func append(_ entry: Entry) -> Int64 {
        precondition(entry.length <= Self.maximumPayloadSize)
        let position = end
        let slotEntry = unsafe entries + Int(position & mask)
        unsafe slotEntry.initialize(to: entry)
        unsafe slotEntry.pointee.payloadBefore = payloadTotal
        payloadTotal += Int64(entry.length)
        end += 1
        guard entry.sequence != Entry.unnumbered else { return position }
        unsafe positions[Int(entry.sequence & mask)] = position
        newestSequence = max(newestSequence ?? entry.sequence, entry.sequence)
        if entry.startsKeyFrame, keyFrame < start || entry.timestamp != keyFrameTimestamp {
            keyFrame = position
            keyFrameTimestamp = entry.timestamp
            keyFrameSets = 0..<0
        }
        return position
    }

    /// Appends a packet with a copy of a payload, and returns its position; nil if the payload is too large.
    ///
    /// - Parameters:
    ///   - entry: The packet.
    ///   - payload: Its payload.
    ///   - descriptor: Its dependency descriptor. It is kept after the payload, and left out if there is no space, which
    ///     is not possible in a datagram for Ethernet.
    ///   - bytes: The bytes of the descriptor.
    /// - Returns: The position.
    @discardableResult
    package mutating func append(
        _ entry: Entry, payload: ByteView, descriptor: LoggedDescriptor = .none, bytes: ByteView = ByteView()
    ) -> Int64? {
        guard payload.count <= Self.maximumPayloadSize else { return nil }
        let buffer = bufferForNext()
        buffer.copyMemory(from: payload)
        var entry = entry
        entry.length = payload.count
        let stored = descriptor.storedSize
        if stored == 0 {
            entry.descriptor = descriptor
        } else if stored == bytes.count, payload.count + stored <= Self.maximumPayloadSize {
            buffer.extracting(payload.count...).copyMemory(from: bytes)
            entry.descriptor = descriptor
        }
        return append(entry)
    }

    /// Notes a structure of the source, to which later descriptors refer.
    package mutating func note(_ structure: DependencyStructure, number: Int) {
        decodeTargets.note(structure, number: number)
    }

    /// Returns the bytes of the dependency descriptor at a position, which are valid until the log changes; empty if it
    /// has no extended fields.
    package func descriptorBytes(at position: Int64) -> ByteView {
        let entry = address(of: position)
        let start = entry.pointee.length
        return ByteView(slot(position).extracting(start..<start + entry.pointee.descriptor.storedSize))
    }

    /// Returns a reference to the entry at a position, which is valid until the log changes. It avoids a copy per
    /// packet and viewer.
    ///
    /// - Precondition: The position is in `start..<end`.
    ///
    /// - Parameter position: The position.
    /// - Returns: The reference.
    @inlinable @inline(__always)
    public func address(of position: Int64) -> Reference<Entry> {
        precondition(position >= start && position < end, "there must be a packet at the position")
        return unsafe Reference(UnsafePointer(entries + Int(position & mask)))
    }

    /// The entry at a position.
    ///
    /// - Precondition: The position is in `start..<end`.
    package subscript(position: Int64) -> Entry {
        precondition(position >= start && position < end, "there must be a packet at the position")
        return unsafe entries[Int(position & mask)]
    }

    /// Returns the payload of the packet at a position, which is valid until the log changes.
    package func payload(at position: Int64) -> ByteView {
        ByteView(slot(position).extracting(0..<address(of: position).pointee.length))
    }

    /// Returns the size of the payloads from a position on in bytes.
    ///
    /// - Precondition: The position is in `start..<end`.
    ///
    /// - Parameter position: The position.
    /// - Returns: The size.
    @inlinable @inline(__always)
    public func payloadSize(from position: Int64) -> Int {
        Int(payloadTotal - address(of: position).pointee.payloadBefore)
    }

    /// Returns the position of the packet with an unwrapped sequence number; nil if it is not in the log.
    package func position(ofSequence sequence: Int64) -> Int64? {
        let position = unsafe positions[Int(sequence & mask)]
        guard position >= start, unsafe entries[Int(position & mask)].sequence == sequence else { return nil }
        return position
    }
}
