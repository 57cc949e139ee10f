public import PCastMedia

/// Turns the packets of one track, as they come, into whole frames in order.
///
/// A frame is delivered at once when it is complete and follows the one before without a hole; when to show it is
/// decided elsewhere. A missing packet is waited for as long as `patience`. Then audio says what is lost and goes on; video
/// needs a key frame, and goes on with it or with the missing packet, whichever comes first, and never with a frame that
/// refers to lost ones (JB8).
///
/// After each `insert`, and when `deadline` has come, `poll` is called until it answers nil. All packet memory is
/// allocated at the beginning; only a delivered frame's bytes are allocated.
public struct JitterBuffer: ~Copyable {
    /// The most that a packet may be ahead of the newest before it counts as another stream's (RFC 3550, appendix
    /// A.1, MAX_DROPOUT).
    static let maximumDropout: Int64 = 3000

    /// How far by its timestamp a packet behind the stream may be from the newest, to be a late one of it.
    static let maximumAge = TimeSpan.seconds(10 as Int64)

    /// When this much video waits behind a hole and a key frame with it, the hole is given up early.
    static let maximumSpan = TimeSpan.milliseconds(500)

    /// By how much the first packet may be overtaken at most.
    private static let longestOvertaking = TimeSpan.milliseconds(100)

    /// How long it is left open where the stream begins.
    var overtaking: TimeSpan { min(patience, Self.longestOvertaking) }

    public let codec: Codec

    /// How long a missing packet is waited for.
    public var patience: TimeSpan

    public internal(set) var statistics = JitterBufferStatistics()

    var slots: PacketSlots
    var depacketizer: PayloadDepacketizer
    private var sequences = SequenceUnwrapper()
    private var timestamps = TimestampUnwrapper()
    private var restarts = RestartDetector()

    /// The number that is delivered next; all before it are done with. Meaningless while `newest` is nil.
    var cursor: Int64 = 0

    /// The highest number seen, nil before the first packet.
    var newest: Int64?

    /// The timestamp of the newest packet.
    var newestTimestamp: Int64 = 0

    /// The first number from the cursor on that is not here.
    var firstMissing: Int64 = 0

    /// When it was known that `firstMissing` is missing; nil when nothing beyond it is here.
    var missingSince: Instant?

    /// Video: the hole that was waited for long enough, by when it was known, and whether a key frame has come since.
    var hopelessSince: Instant?
    var isHopeless = false

    /// Video: after this even a packet that was asked for ten times is not waited for.
    var lastPatience: TimeSpan { max(patience * 3, .seconds(1 as Int64)) }

    /// When the first packet came, as long as nothing was done with: until then the stream may turn out to begin
    /// earlier.
    var beganAt: Instant?

    /// Video: nothing but a key frame may follow.
    var awaitsKeyFrame: Bool

    /// The end of what was delivered last: where the next audio is expected, and how much video waits.
    var expectedTimestamp: Int64?

    /// Audio: packets given up since the last one delivered.
    var lostBeforeCursor = 0

    /// The frame that was dropped last.
    private var lastDroppedTimestamp: Int64?

    /// - Parameters:
    ///   - patience: nil stands for `RetransmissionPatience` with a short round trip.
    ///   - capacity: in packets, a power of two; nil stands for 1024 of video, 256 of audio.
    ///   - maximumPayloadSize: larger payloads are refused.
    public init(codec: Codec, patience: TimeSpan? = nil, capacity: Int? = nil, maximumPayloadSize: Int = 1472) {
        self.codec = codec
        let isVideo = codec.mediaType == .video
        self.patience =
            patience ?? (isVideo ? RetransmissionPatience.video(roundTripTime: .zero) : RetransmissionPatience.audio)
        slots = PacketSlots(capacity: capacity ?? (isVideo ? 1024 : 256), slotSize: maximumPayloadSize)
        depacketizer = PayloadDepacketizer(codec: codec)
        awaitsKeyFrame = isVideo
    }

    /// Whether a key frame has to be asked for: no frame can be delivered without one, or without what was waited for in
    /// vain, and none is on its way.
    public var needsKeyFrame: Bool {
        // Parameter sets that come in a packet of their own are followed by the key frame that they belong to, in most
        // cases: the next packet shows whether they are.
        guard let newest, slots[newest]?.start != .parameterSets else { return false }
        return awaitsKeyFrame ? slots.keyFrameStartCount == 0 : isHopeless
    }

    /// When `poll` wants to be called next if no packet comes: when the hole's patience ends.
    public var deadline: Instant? {
        if let missingSince { return missingSince + (hopelessSince == missingSince ? lastPatience : patience) }
        return holdsUnsettledFrame ? beganAt.map { $0 + overtaking } : nil
    }

    /// Takes in the payload of a packet, copying it. An empty one is padding.
    public mutating func insert(
        payload: UnsafeRawBufferPointer, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool, at now: Instant
    ) -> Insertion {
        guard payload.count <= slots.slotSize else { return count(.refused) }
        let sequence = sequences.peek(sequenceNumber)
        let time = timestamps.peek(timestamp)
        guard belongs(sequence, time) else {
            guard restarts.strangerArrived(sequenceNumber) else { return count(.refused) }
            restart()
            begin(at: sequences.peek(sequenceNumber), timestamp: timestamps.peek(timestamp), at: now)
            store(payload, sequences.peek(sequenceNumber), timestamps.peek(timestamp), marker, at: now)
            return count(.resynchronized)
        }
        restarts.memberArrived()
        if newest == nil { begin(at: sequence, timestamp: time, at: now) }
        if sequence < cursor, !beginsEarlier(at: sequence) { return count(.late) }
        if slots.contains(sequence) { return count(.duplicate) }
        makeRoom(for: sequence)
        store(payload, sequence, time, marker, at: now)
        return count(.inserted)
    }

    /// Takes in that this number is of a packet with padding only, or with nothing: it fills its place (RTP1).
    public mutating func insertPadding(sequenceNumber: UInt16, timestamp: UInt32, at now: Instant) -> Insertion {
        insert(
            payload: UnsafeRawBufferPointer(start: nil, count: 0), sequenceNumber: sequenceNumber,
            timestamp: timestamp, marker: false, at: now)
    }

    /// The next frame or gap; nil when there is none yet.
    public mutating func poll(at now: Instant) -> Output? {
        guard newest != nil else { return nil }
        return codec.mediaType == .video ? pollVideo(at: now).map(Output.frame) : pollAudio(at: now)
    }

    private mutating func count(_ insertion: Insertion) -> Insertion {
        switch insertion {
        case .inserted: statistics.packetsInserted += 1
        case .duplicate: statistics.packetsDuplicate += 1
        case .late: statistics.packetsLate += 1
        case .refused: statistics.packetsRefused += 1
        case .resynchronized:
            statistics.packetsInserted += 1
            statistics.resynchronizations += 1
        }
        return insertion
    }

    /// Whether a packet is of the stream as it is: not too far ahead, and if behind, of a time that a late one can
    /// have.
    private func belongs(_ sequence: Int64, _ time: Int64) -> Bool {
        guard let newest else { return true }
        if sequence >= cursor { return sequence - newest < Self.maximumDropout }
        return newest - sequence < Self.maximumDropout
            && abs(newestTimestamp - time) <= codec.clockRate.ticks(in: Self.maximumAge)
    }

    private mutating func begin(at sequence: Int64, timestamp: Int64, at now: Instant) {
        cursor = sequence
        firstMissing = sequence
        newest = sequence
        newestTimestamp = timestamp
        beganAt = now
    }

    private mutating func restart() {
        discard(upTo: (newest ?? cursor) + 1)
        slots.removeAll()
        newest = nil
        missingSince = nil
        expectedTimestamp = nil
        lostBeforeCursor = 0
        awaitsKeyFrame = codec.mediaType == .video
    }

    /// Moves the beginning back to a packet that was overtaken by what seemed the first.
    private mutating func beginsEarlier(at sequence: Int64) -> Bool {
        guard beganAt != nil, let newest, newest - sequence < Int64(slots.capacity) else { return false }
        cursor = sequence
        firstMissing = sequence
        missingSince = nil
        return true
    }

    /// Gives up the oldest when the slots do not reach to `sequence`.
    private mutating func makeRoom(for sequence: Int64) {
        let first = sequence - Int64(slots.capacity) + 1
        guard first > cursor else { return }
        discard(upTo: first)
        if codec.mediaType == .video { awaitsKeyFrame = true }
    }

    private mutating func store(
        _ payload: UnsafeRawBufferPointer, _ sequence: Int64, _ time: Int64, _ marker: Bool, at now: Instant
    ) {
        let start = KeyFrameDetector.inspect(
            codec: codec, payload: payload.assumingMemoryBound(to: UInt8.self).span)
        slots.insert(
            PacketSlots.Slot(
                sequence: sequence, timestamp: time, arrival: now, length: payload.count, marker: marker,
                start: start),
            payload: payload)
        if sequence >= newest! {
            newest = sequence
            newestTimestamp = time
            _ = sequences.unwrap(UInt16(truncatingIfNeeded: sequence))
            // Only the newest packet moves the reference, so that a stray one does not.
            _ = timestamps.unwrap(UInt32(truncatingIfNeeded: time))
        }
        if sequence == firstMissing || missingSince == nil { findMissing() }
        if start.isKeyFrame, sequence > firstMissing { isHopeless = false }
    }

    /// Finds the first number that is missing, and since when it is.
    private mutating func findMissing() {
        firstMissing = max(firstMissing, cursor)
        while slots.contains(firstMissing) { firstMissing += 1 }
        missingSince = nil
        if let present = firstPresent(from: firstMissing) { missingSince = slots[present]?.arrival }
        if hopelessSince != missingSince {
            hopelessSince = nil
            isHopeless = false
        }
    }

    /// The first number at or after `sequence` that is here.
    func firstPresent(from sequence: Int64) -> Int64? {
        guard let newest, sequence <= newest else { return nil }
        var sequence = sequence
        while sequence <= newest {
            if slots.contains(sequence) { return sequence }
            sequence += 1
        }
        return nil
    }

    /// Moves the cursor to `end` with what was delivered.
    mutating func consume(upTo end: Int64) {
        while cursor < end {
            slots.remove(cursor)
            cursor += 1
        }
        beganAt = nil
        if firstMissing < cursor { findMissing() }
    }

    /// Moves the cursor to `end` and counts what is lost by it.
    mutating func discard(upTo end: Int64) {
        var missing = 0
        for sequence in cursor..<max(cursor, end) {
            guard let slot = slots[sequence] else {
                missing += 1
                continue
            }
            if !slot.isPadding { countDroppedFrame(slot.timestamp) }
            // A key frame behind it may need them.
            if slot.start == .parameterSets {
                depacketizer.rememberParameterSets(
                    of: slots.payload(of: slot).assumingMemoryBound(to: UInt8.self).span)
            }
        }
        statistics.packetsLost += missing
        lostBeforeCursor += missing
        consume(upTo: end)
    }

    /// A frame that is dropped in parts counts once.
    mutating func countDroppedFrame(_ timestamp: Int64) {
        if timestamp != lastDroppedTimestamp { statistics.framesDropped += 1 }
        lastDroppedTimestamp = timestamp
    }

    /// Whether the hole has been waited for long enough.
    func isGivenUp(at now: Instant) -> Bool {
        guard let missingSince else { return false }
        return now >= missingSince + patience
    }
}
