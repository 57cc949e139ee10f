public import PCastMedia

/// The packets of one track in the order in which they arrived, in fixed memory: what is sent on, what a viewer who
/// joins is shown, and what a retransmission is made from.
///
/// Arrival order rather than sequence order, because a packet that was lost on the way in and repaired later is sent
/// on when it arrives (NACK9). Everyone who sends the track keeps a position in the log, so that one copy of the
/// payload serves them all and nobody has a queue of his own. When the log is full the oldest packet is overwritten;
/// whoever stood there has fallen behind by `capacity` packets and starts again at a key frame.
///
/// Parameter sets that a key frame lacks have entries without a number. Only viewers that begin with that key frame are sent
/// them (`parameterSets(ofKeyFrameAt:)`).
public struct PacketLog: ~Copyable {
    /// One packet, without its bytes.
    public struct Entry: Sendable {
        /// The source's sequence number, unwrapped.
        public var sequence: Int64
        /// The source's timestamp, as sent.
        public var timestamp: UInt32
        public var marker: Bool
        /// A key frame can be decoded from here on (parameter sets included).
        public var startsKeyFrame: Bool
        /// When it arrived, or was made.
        public var arrival: Instant
        /// Payload bytes.
        public var length: Int
        /// Whether `forwarded` has anything at all.
        let isForwarding: Bool
        /// Payload bytes of all packets of the log before it.
        fileprivate(set) var payloadBefore: Int64 = 0
        /// Header extensions that pass on unchanged (SW9).
        public let forwarded: RTPExtensionValues

        /// The number of an entry that is no packet of the source: less than any packet's, so that whoever sends the track
        /// passes it over, and far enough from the limits to calculate with it.
        static let unnumbered: Int64 = -(1 << 48)

        public init(
            sequence: Int64, timestamp: UInt32, marker: Bool, startsKeyFrame: Bool, arrival: Instant,
            length: Int = 0, forwarded: RTPExtensionValues = RTPExtensionValues()
        ) {
            self.sequence = sequence
            self.timestamp = timestamp
            self.marker = marker
            self.startsKeyFrame = startsKeyFrame
            self.arrival = arrival
            self.length = length
            self.forwarded = forwarded
            isForwarding = forwarded.isForwarding
        }
    }

    /// The largest payload that is kept. Larger ones are refused: no path carries them in one datagram.
    public static let maximumPayloadSize = 1472

    public private(set) var capacity: Int
    private var mask: Int64
    private var entries: UnsafeMutablePointer<Entry>
    private var payloads: UnsafeMutableRawPointer
    /// For each sequence number modulo `capacity`, the position of the packet that bears it.
    private var positions: UnsafeMutablePointer<Int64>

    /// The position after the newest packet. Positions count from zero and never return.
    public private(set) var end: Int64 = 0
    /// Payload bytes of all packets that were ever in it.
    private var payloadTotal: Int64 = 0

    /// Where the newest key frame begins, if it is still in the log.
    public var newestKeyFrame: Int64? { keyFrame >= start ? keyFrame : nil }
    private var keyFrame: Int64 = -1
    private var keyFrameTimestamp: UInt32 = 0
    /// Where the parameter sets are that the newest key frame lacks; empty where it lacks none.
    private var keyFrameSets: Range<Int64> = 0..<0

    /// The highest sequence number in the log.
    public private(set) var newestSequence: Int64?

    /// - Parameter capacity: packets, a power of two.
    public init(capacity: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a log's capacity is a power of two")
        self.capacity = capacity
        mask = Int64(capacity - 1)
        entries = .allocate(capacity: capacity)
        payloads = .allocate(byteCount: capacity * Self.maximumPayloadSize, alignment: 16)
        positions = .allocate(capacity: capacity)
        positions.initialize(repeating: -1, count: capacity)
    }

    deinit {
        entries.deallocate()
        payloads.deallocate()
        positions.deallocate()
    }

    /// Whether the newest key frame, or a parameter set that it needs, is overwritten by one of the next few packets.
    public var losesKeyFrameNext: Bool {
        guard keyFrame >= start else { return false }
        let first = keyFrameSets.isEmpty ? keyFrame : min(keyFrame, keyFrameSets.lowerBound)
        return first - start < Self.fewPackets && end - first >= Int64(capacity) - Self.fewPackets
    }

    /// More than are appended between two looks at `losesKeyFrameNext`.
    private static let fewPackets: Int64 = 16

    /// Doubles the capacity. All packets, and their positions, stay.
    public mutating func grow() {
        let (oldMask, oldEntries, oldPayloads) = (mask, entries, payloads)
        // Behind it the memory has nothing: an earlier growth may not be filled yet.
        oldest = start
        positions.deallocate()
        capacity *= 2
        mask = Int64(capacity - 1)
        entries = .allocate(capacity: capacity)
        payloads = .allocate(byteCount: capacity * Self.maximumPayloadSize, alignment: 16)
        positions = .allocate(capacity: capacity)
        positions.initialize(repeating: -1, count: capacity)
        for position in oldest..<end {
            let entry = oldEntries[Int(position & oldMask)]
            (entries + Int(position & mask)).initialize(to: entry)
            let payload = oldPayloads + Int(position & oldMask) * Self.maximumPayloadSize
            slot(position).baseAddress!.copyMemory(from: payload, byteCount: entry.length)
            if entry.sequence != Entry.unnumbered { positions[Int(entry.sequence & mask)] = position }
        }
        oldEntries.deallocate()
        oldPayloads.deallocate()
    }

    /// The position of the oldest packet that has been kept since the log grew.
    private var oldest: Int64 = 0

    /// The position of the oldest packet that is still there.
    public var start: Int64 { max(oldest, end - Int64(capacity)) }

    private func slot(_ position: Int64) -> UnsafeMutableRawBufferPointer {
        let offset = Int(position & mask) * Self.maximumPayloadSize
        return UnsafeMutableRawBufferPointer(start: payloads + offset, count: Self.maximumPayloadSize)
    }

    /// The source started over: nobody may begin with a key frame from before.
    public mutating func forgetKeyFrame() { keyFrame = -1 }

    /// Notes that the newest key frame begins at `position`.
    ///
    /// - Parameter sets: the parameter sets that it lacks, appended by `appendUnnumbered`.
    mutating func noteKeyFrame(at position: Int64, sets: Range<Int64> = 0..<0) {
        precondition(position >= start && position < end, "no packet at that position")
        entries[Int(position & mask)].startsKeyFrame = true
        keyFrame = position
        keyFrameTimestamp = entries[Int(position & mask)].timestamp
        keyFrameSets = sets
    }

    /// The parameter sets that a viewer needs who begins with the key frame at `position`: they are sent before it. Nil where
    /// it needs none, or where that is not the newest key frame.
    func parameterSets(ofKeyFrameAt position: Int64) -> Range<Int64>? {
        guard position == keyFrame, !keyFrameSets.isEmpty, keyFrameSets.lowerBound >= start else { return nil }
        return keyFrameSets
    }

    /// Appends something that is no packet of the source, and that nobody is sent unless asked for by its position. Answers the
    /// position, and nil when it is too large.
    public mutating func appendUnnumbered(
        timestamp: UInt32, arrival: Instant, payload: UnsafeRawBufferPointer
    ) -> Int64? {
        append(
            Entry(
                sequence: Entry.unnumbered, timestamp: timestamp, marker: false, startsKeyFrame: false,
                arrival: arrival), payload: payload)
    }

    /// Whether a packet of that number may be appended: it is not there, and not so old that its being there once
    /// could have been forgotten, as a number sent twice would be (SRTP1).
    public func accepts(sequence: Int64) -> Bool {
        if let newestSequence, sequence <= newestSequence - Int64(capacity / 2) { return false }
        return position(ofSequence: sequence) == nil
    }

    /// Room for the payload of the packet that is appended next; valid until then.
    public func roomForNext() -> UnsafeMutableRawBufferPointer { slot(end) }

    /// Appends the packet whose payload was written to `roomForNext()`, and answers its position.
    @discardableResult
    public mutating func append(_ entry: Entry) -> Int64 {
        precondition(entry.length <= Self.maximumPayloadSize)
        let position = end
        let place = entries + Int(position & mask)
        place.initialize(to: entry)
        place.pointee.payloadBefore = payloadTotal
        payloadTotal += Int64(entry.length)
        end += 1
        guard entry.sequence != Entry.unnumbered else { return position }
        positions[Int(entry.sequence & mask)] = position
        newestSequence = max(newestSequence ?? entry.sequence, entry.sequence)
        if entry.startsKeyFrame, keyFrame < start || entry.timestamp != keyFrameTimestamp {
            keyFrame = position
            keyFrameTimestamp = entry.timestamp
            keyFrameSets = 0..<0
        }
        return position
    }

    /// Appends a copy of `payload`; answers nil when it is too large.
    @discardableResult
    public mutating func append(_ entry: Entry, payload: UnsafeRawBufferPointer) -> Int64? {
        guard payload.count <= Self.maximumPayloadSize else { return nil }
        roomForNext().copyMemory(from: payload)
        var entry = entry
        entry.length = payload.count
        return append(entry)
    }

    /// Where an entry stands until the log changes: what is looked at for each packet and viewer is not copied.
    ///
    /// - Precondition: `position` is in `start..<end`.
    @inline(__always)
    public func address(of position: Int64) -> UnsafePointer<Entry> {
        precondition(position >= start && position < end, "no packet at that position")
        return UnsafePointer(entries + Int(position & mask))
    }

    /// - Precondition: `position` is in `start..<end`.
    public subscript(position: Int64) -> Entry {
        precondition(position >= start && position < end, "no packet at that position")
        return entries[Int(position & mask)]
    }

    /// The payload of the packet at `position`; valid until the log changes.
    public func payload(at position: Int64) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: slot(position)[..<address(of: position).pointee.length])
    }

    /// Payload bytes of the packet at `position` and of all behind it.
    ///
    /// - Precondition: `position` is in `start..<end`.
    @inline(__always)
    public func payloadSize(from position: Int64) -> Int {
        Int(payloadTotal - address(of: position).pointee.payloadBefore)
    }

    /// Where the packet with that (unwrapped) sequence number is, if it is still there.
    public func position(ofSequence sequence: Int64) -> Int64? {
        let position = positions[Int(sequence & mask)]
        guard position >= start, entries[Int(position & mask)].sequence == sequence else { return nil }
        return position
    }
}
