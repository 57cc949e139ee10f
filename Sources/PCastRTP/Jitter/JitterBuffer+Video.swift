import PCastCore

extension JitterBuffer {
    /// Returns the next frame; nil if there is none yet.
    mutating func pollVideo(at now: Instant) -> Frame? {
        if let began = beganAt, now >= began + reorderWindow { beganAt = nil }
        while true {
            passPadding()
            if awaitsKeyFrame, let start = newestCompleteKeyFrame() {
                discard(upTo: start.lowerBound)
                if let frame = assemble(start) { return frame }
                continue
            }
            if let end = FrameBoundary.end(ofFrameAt: cursor, in: slots) {
                if awaitsKeyFrame {
                    // The frame cannot be decoded, unless an earlier packet turns out to begin the stream.
                    guard beganAt == nil else { return nil }
                    discard(upTo: end + 1)
                } else if let frame = assemble(cursor...end) {
                    return frame
                }
                continue
            }
            if isGivenUp(at: now) { abandonGap() }
            guard isAbandoned(at: now) || mayJump else { return nil }
            giveUpGap()
        }
    }

    /// Whether frames are held only because the stream may turn out to begin earlier.
    var holdsUnsettledFrame: Bool { awaitsKeyFrame && beganAt != nil && slots.count > 0 }

    private mutating func passPadding() {
        var end = cursor
        while let slot = slots[end], slot.isPadding { end += 1 }
        if end > cursor { consume(upTo: end) }
    }

    /// Returns the key frame at which to resume after a gap. It is the newest one, so that a stall causes no delay.
    private func newestCompleteKeyFrame() -> ClosedRange<Int64>? {
        guard slots.keyFrameStartCount > 0, let newest else { return nil }
        var sequence = newest
        while sequence >= cursor {
            if let slot = slots[sequence], slot.start.isKeyFrame, isDecodable(slot.start, at: sequence),
                let end = FrameBoundary.end(ofFrameAt: sequence, in: slots)
            {
                return beginning(ofKeyFrameAt: sequence)...end
            }
            sequence -= 1
        }
        return nil
    }

    /// Returns the first packet of a key frame, including packets before its first slice, e.g. parameter sets in any
    /// order.
    private func beginning(ofKeyFrameAt sequence: Int64) -> Int64 {
        guard let timestamp = slots[sequence]?.timestamp else { return sequence }
        var first = sequence
        var probe = sequence - 1
        while probe >= cursor, let slot = slots[probe], slot.isPadding || slot.timestamp == timestamp {
            if !slot.isPadding { first = probe }
            probe -= 1
        }
        return first
    }

    /// Returns whether a key frame has, or can get, its parameter sets.
    private func isDecodable(_ start: KeyFrameDetector.PayloadKind, at sequence: Int64) -> Bool {
        start == .keyFrame || depacketizer.hasParameterSets || hasParameterSets(before: sequence)
    }

    /// Returns whether there are unread parameter sets of the same frame or an earlier one.
    private func hasParameterSets(before sequence: Int64) -> Bool {
        (cursor..<sequence).contains { slots[$0]?.start == .parameterSets }
    }

    /// Requests a key frame because the timeout of a gap has expired, unless a key frame follows the gap.
    private mutating func abandonGap() {
        guard unrecoverableSince != missingSince else { return }
        unrecoverableSince = missingSince
        isUnrecoverable = !hasKeyFrameAfterGap
    }

    /// Whether a key frame follows the gap.
    private var hasKeyFrameAfterGap: Bool {
        guard slots.keyFrameStartCount > 0, let newest, newest > firstMissing else { return false }
        return (firstMissing...newest).contains { slots[$0]?.start.isKeyFrame ?? false }
    }

    /// Returns whether the second timeout of the gap has expired, too.
    private func isAbandoned(at now: Instant) -> Bool {
        missingSince.map { now >= $0 + finalTimeout } ?? false
    }

    /// Whether a complete key frame follows the gap, and the gap is unrecoverable or long, so that waiting only adds
    /// delay.
    private var mayJump: Bool {
        guard missingSince != nil, slots.keyFrameStartCount > 0 else { return false }
        let span = codec.clockRate.ticks(in: Self.maximumSpan)
        let isLong = expectedTimestamp.map { newestTimestamp - $0 > span } ?? false
        guard isLong || unrecoverableSince == missingSince else { return false }
        return newestCompleteKeyFrame() != nil
    }

    /// Gives up the gap, and waits for a key frame.
    private mutating func giveUpGap() {
        awaitsKeyFrame = true
        discard(upTo: firstPresent(from: firstMissing) ?? firstMissing)
    }

    /// Assembles a frame from complete packets and moves after it. Returns nil if it is damaged or contains no slice.
    private mutating func assemble(_ packets: ClosedRange<Int64>) -> Frame? {
        guard let first = slots[packets.lowerBound] else { return nil }
        var bytes: [UInt8] = []
        var firstArrival = first.arrival
        var lastArrival = first.arrival
        bytes.reserveCapacity(byteCount(of: packets))
        for sequence in packets {
            guard let slot = slots[sequence], !slot.isPadding else { continue }
            firstArrival = min(firstArrival, slot.arrival)
            lastArrival = max(lastArrival, slot.arrival)
            depacketizer.append(slots.payload(of: slot).span, to: &bytes)
        }
        let contents = depacketizer.finish(&bytes)
        statistics.malformedUnits = depacketizer.malformedUnits
        consume(upTo: packets.upperBound + 1)
        expectedTimestamp = first.timestamp
        guard let contents, !contents.hasSlice || contents.isKeyFrame || !awaitsKeyFrame else {
            countDroppedFrame(first.timestamp)
            awaitsKeyFrame = true
            return nil
        }
        guard contents.hasSlice else { return nil }
        awaitsKeyFrame = false
        statistics.framesAssembled += 1
        if contents.isKeyFrame { statistics.keyFramesAssembled += 1 }
        return Frame(
            bytes: bytes, isKeyFrame: contents.isKeyFrame,
            timestamp: MediaTime(ticks: first.timestamp, rate: codec.clockRate), sequenceNumbers: packets,
            firstArrival: firstArrival, lastArrival: lastArrival)
    }

    /// Returns the maximum size of a frame in bytes: its payloads and a start code for each.
    private func byteCount(of packets: ClosedRange<Int64>) -> Int {
        packets.reduce(0) { $0 + (slots[$1]?.length ?? 0) + 4 }
    }
}

/// The detection of complete frames.
enum FrameBoundary {
    /// Returns the last sequence number of the frame that begins with `first`; nil if packets are missing or its end is
    /// unknown.
    ///
    /// A frame ends with the marker bit, or before a packet with another timestamp, because not all senders set the
    /// marker. Padding packets are ignored.
    ///
    /// - Parameters:
    ///   - first: The first sequence number of the frame.
    ///   - slots: The packets.
    /// - Returns: The sequence number.
    static func end(ofFrameAt first: Int64, in slots: borrowing PacketSlots) -> Int64? {
        guard let start = slots[first], !start.isPadding else { return nil }
        var sequence = first
        var last = first
        while let slot = slots[sequence] {
            if !slot.isPadding {
                if slot.timestamp != start.timestamp { return last }
                last = sequence
                if slot.marker { return last }
            }
            sequence += 1
        }
        return nil
    }
}

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
    private let memory: ByteStorage
    private var slots: [Slot?]

    /// The number of packets.
    private(set) var count = 0

    /// The number of packets with which a key frame may begin.
    private(set) var keyFrameStartCount = 0

    /// Creates a ring. `capacity` must be a power of two.
    init(capacity: Int, slotSize: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "the number of slots must be a power of two")
        self.capacity = capacity
        self.slotSize = slotSize
        memory = ByteStorage(byteCount: capacity * slotSize, alignment: 64)
        slots = Array(repeating: nil, count: capacity)
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
    func payload(of slot: Slot) -> ByteView {
        let offset = index(slot.sequence) * slotSize
        return ByteView(memory.bytes.extracting(offset..<offset + slot.length))
    }

    /// Inserts a packet into its slot, which must be free.
    mutating func insert(_ slot: Slot, payload: ByteView) {
        let index = index(slot.sequence)
        precondition(slots[index] == nil && payload.count == slot.length && slot.length <= slotSize)
        memory.bytes.extracting(index * slotSize..<(index + 1) * slotSize)
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
        for index in slots.indices { slots[index] = nil }
        count = 0
        keyFrameStartCount = 0
    }
}
