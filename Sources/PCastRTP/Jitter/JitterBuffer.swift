public import PCastCore

/// Assembles the packets of a track, in their order of arrival, into complete frames in decoding order.
///
/// A frame is delivered as soon as it is complete and follows the last one without a gap. The time to show it is
/// decided elsewhere. A missing packet is awaited for `timeout`. Audio then reports a gap and continues. Video needs a
/// key frame and resumes with it or with the missing packet, whichever arrives first. It never delivers a frame that
/// refers to lost ones.
///
/// After each ``insert(payload:sequenceNumber:timestamp:marker:at:)``, and at the ``deadline``, the caller calls
/// ``poll(at:)`` until it returns nil. The memory of packets is allocated at the beginning; only the bytes of delivered
/// frames are allocated later.
public struct JitterBuffer: ~Copyable {
    /// The maximum distance of a packet after the newest one, beyond which it belongs to another stream (MAX_DROPOUT in
    /// RFC 3550, appendix A.1).
    static let maximumDropout: Int64 = 3000

    /// The maximum timestamp distance of a late packet from the newest one.
    static let maximumAge = TimeSpan.seconds(10 as Int64)

    /// The duration of video after a gap from which on the gap is given up early, if a key frame follows it.
    static let maximumSpan = TimeSpan.milliseconds(500)

    /// The maximum reordering delay of the first packet.
    private static let maximumReorderWindow = TimeSpan.milliseconds(100)

    /// The time in which an earlier packet may turn out to begin the stream.
    var reorderWindow: TimeSpan { min(timeout, Self.maximumReorderWindow) }

    /// The codec of the track; see ``change(to:)``.
    public private(set) var codec: Codec

    /// The time for which a missing packet is awaited.
    public var timeout: TimeSpan

    /// The statistics since the beginning.
    public internal(set) var statistics = JitterBufferStatistics()

    var slots: PacketSlots
    var depacketizer: PayloadDepacketizer
    private var sequences = SequenceUnwrapper()
    private var timestamps = TimestampUnwrapper()
    private var restarts = RestartDetector()

    /// The sequence number that is delivered next, unwrapped; undefined while `newest` is nil.
    var cursor: Int64 = 0

    /// The highest sequence number; nil before the first packet.
    var newest: Int64?

    /// The timestamp of the newest packet.
    var newestTimestamp: Int64 = 0

    /// The first missing sequence number from the cursor on.
    var firstMissing: Int64 = 0

    /// The time since which `firstMissing` is known to be missing; nil if no packet after it has arrived.
    var missingSince: Instant?

    /// The value of `missingSince` of the video gap whose timeout has expired; nil if there is none.
    var unrecoverableSince: Instant?
    /// Whether that gap needs a key frame that has not arrived.
    var isUnrecoverable = false

    /// The timeout of a video gap after which packets are not awaited any more, even if they were requested ten times.
    var finalTimeout: TimeSpan { max(timeout * 3, .seconds(1 as Int64)) }

    /// The arrival time of the first packet, until a packet is delivered or given up. An earlier packet may turn out to
    /// begin the stream until then.
    var beganAt: Instant?

    /// Whether video can only resume with a key frame.
    var awaitsKeyFrame: Bool

    /// The timestamp at which the next audio is expected, or that of the last delivered video frame.
    var expectedTimestamp: Int64?

    /// The number of audio packets that were given up since the last delivered one.
    var lostBeforeCursor = 0

    /// The timestamp of the last dropped frame.
    private var lastDroppedTimestamp: Int64?

    /// Creates a buffer.
    ///
    /// - Parameters:
    ///   - codec: The codec of the track.
    ///   - timeout: The time for which a missing packet is awaited; nil for that of `RetransmissionTimeout` with a
    ///     short round-trip time.
    ///   - capacity: The number of packets, a power of two; nil for 1024 of video or 256 of audio.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes; larger ones are rejected.
    public init(codec: Codec, timeout: TimeSpan? = nil, capacity: Int? = nil, maximumPayloadSize: Int = 1472) {
        self.codec = codec
        let isVideo = codec.mediaType == .video
        self.timeout =
            timeout ?? (isVideo ? RetransmissionTimeout.video(roundTripTime: .zero) : RetransmissionTimeout.audio)
        slots = PacketSlots(capacity: capacity ?? (isVideo ? 1024 : 256), slotSize: maximumPayloadSize)
        depacketizer = PayloadDepacketizer(codec: codec)
        awaitsKeyFrame = isVideo
    }

    /// Keeps parameter sets that the stream has sent or announced before its first packet here, for key frames without
    /// them.
    package mutating func remember(_ parameterSets: VideoParameterSets) {
        for payload in parameterSets.payloads(aggregates: false, isH265: codec == .h265) {
            depacketizer.rememberParameterSets(of: payload.span)
        }
    }

    /// Whether a key frame must be requested: no frame can be delivered without one, and none is arriving.
    public var needsKeyFrame: Bool {
        // A packet of parameter sets is usually followed by the key frame that they belong to. The next packet shows
        // whether it is.
        guard let newest, slots[newest]?.start != .parameterSets else { return false }
        return awaitsKeyFrame ? slots.keyFrameStartCount == 0 : isUnrecoverable
    }

    /// The time at which ``poll(at:)`` must be called if no packet arrives; nil if nothing is scheduled.
    public var deadline: Instant? {
        if let missingSince { return missingSince + (unrecoverableSince == missingSince ? finalTimeout : timeout) }
        return holdsUnsettledFrame ? beganAt.map { $0 + reorderWindow } : nil
    }

    /// Inserts a copy of a packet's payload. An empty one is padding.
    public mutating func insert(
        payload: ByteView, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool, at now: Instant
    ) -> Insertion {
        guard payload.count <= slots.slotSize else { return count(.refused) }
        let sequence = sequences.peek(sequenceNumber)
        let time = timestamps.peek(timestamp)
        guard belongs(sequence, time) else {
            guard restarts.unrelatedPacketArrived(sequenceNumber) else { return count(.refused) }
            restart()
            begin(at: sequences.peek(sequenceNumber), timestamp: timestamps.peek(timestamp), at: now)
            store(payload, sequences.peek(sequenceNumber), timestamps.peek(timestamp), marker, at: now)
            return count(.resynchronized)
        }
        restarts.memberArrived()
        if newest == nil { begin(at: sequence, timestamp: time, at: now) }
        if sequence < cursor, !beginsEarlier(at: sequence) { return count(.late) }
        if slots.contains(sequence) { return count(.duplicate) }
        makeSpace(for: sequence)
        store(payload, sequence, time, marker, at: now)
        return count(.inserted)
    }

    /// Returns the next frame or gap; nil if there is none yet.
    public mutating func poll(at now: Instant) -> Output? {
        guard newest != nil else { return nil }
        return codec.mediaType == .video ? pollVideo(at: now).map(Output.frame) : pollAudio(at: now)
    }

    /// Counts the result of an insertion.
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

    /// Returns whether a packet belongs to the present stream: it is not too far ahead, and not too old.
    private func belongs(_ sequence: Int64, _ time: Int64) -> Bool {
        guard let newest else { return true }
        if sequence >= cursor { return sequence - newest < Self.maximumDropout }
        return newest - sequence < Self.maximumDropout
            && abs(newestTimestamp - time) <= codec.clockRate.ticks(in: Self.maximumAge)
    }

    /// Begins the stream with its first packet.
    private mutating func begin(at sequence: Int64, timestamp: Int64, at now: Instant) {
        cursor = sequence
        firstMissing = sequence
        newest = sequence
        newestTimestamp = timestamp
        beganAt = now
    }

    /// Drops all packets, because the source has restarted.
    private mutating func restart() {
        discard(upTo: (newest ?? cursor) + 1)
        slots.removeAll()
        newest = nil
        missingSince = nil
        expectedTimestamp = nil
        lostBeforeCursor = 0
        awaitsKeyFrame = codec.mediaType == .video
    }

    /// Continues with packets of another codec of the same media type. Frames that are not complete are dropped, and video
    /// continues with a key frame. Timestamps continue.
    package mutating func change(to codec: Codec) {
        precondition(codec.mediaType == self.codec.mediaType, "a track has one media type")
        self.codec = codec
        restart()
        depacketizer = PayloadDepacketizer(codec: codec)
        unrecoverableSince = nil
        isUnrecoverable = false
    }

    /// Moves the beginning to an earlier packet, if nothing was delivered yet. Returns whether it did.
    private mutating func beginsEarlier(at sequence: Int64) -> Bool {
        guard beganAt != nil, let newest, newest - sequence < Int64(slots.capacity) else { return false }
        cursor = sequence
        firstMissing = sequence
        missingSince = nil
        return true
    }

    /// Gives up the oldest packets if a new one exceeds the capacity.
    private mutating func makeSpace(for sequence: Int64) {
        let first = sequence - Int64(slots.capacity) + 1
        guard first > cursor else { return }
        discard(upTo: first)
        if codec.mediaType == .video { awaitsKeyFrame = true }
    }

    /// Stores a packet, and updates the first missing number.
    private mutating func store(
        _ payload: ByteView, _ sequence: Int64, _ time: Int64, _ marker: Bool, at now: Instant
    ) {
        let start = KeyFrameDetector.inspect(
            codec: codec, payload: payload.span)
        slots.insert(
            PacketSlots.Slot(
                sequence: sequence, timestamp: time, arrival: now, length: payload.count, marker: marker,
                start: start),
            payload: payload)
        if sequence >= newest! {
            newest = sequence
            newestTimestamp = time
            _ = sequences.unwrap(UInt16(truncatingIfNeeded: sequence))
            // Only the newest packet changes the reference, so that a stray one has no effect.
            _ = timestamps.unwrap(UInt32(truncatingIfNeeded: time))
        }
        if sequence == firstMissing || missingSince == nil { findMissing() }
        if start.isKeyFrame, sequence > firstMissing { isUnrecoverable = false }
    }

    /// Finds the first missing number, and since when it is missing.
    private mutating func findMissing() {
        firstMissing = max(firstMissing, cursor)
        while slots.contains(firstMissing) { firstMissing += 1 }
        missingSince = nil
        if let present = firstPresent(from: firstMissing) { missingSince = slots[present]?.arrival }
        if unrecoverableSince != missingSince {
            unrecoverableSince = nil
            isUnrecoverable = false
        }
    }

    /// Returns the first sequence number from `sequence` on whose packet is present; nil if there is none.
    func firstPresent(from sequence: Int64) -> Int64? {
        guard let newest, sequence <= newest else { return nil }
        var sequence = sequence
        while sequence <= newest {
            if slots.contains(sequence) { return sequence }
            sequence += 1
        }
        return nil
    }

    /// Moves the cursor after delivered packets.
    mutating func consume(upTo end: Int64) {
        while cursor < end {
            slots.remove(cursor)
            cursor += 1
        }
        beganAt = nil
        if firstMissing < cursor { findMissing() }
    }

    /// Moves the cursor and counts the packets that are lost or dropped by it.
    mutating func discard(upTo end: Int64) {
        var missing = 0
        for sequence in cursor..<max(cursor, end) {
            guard let slot = slots[sequence] else {
                missing += 1
                continue
            }
            if !slot.isPadding { countDroppedFrame(slot.timestamp) }
            // A later key frame may need them.
            if slot.start == .parameterSets {
                depacketizer.rememberParameterSets(
                    of: slots.payload(of: slot).span)
            }
        }
        statistics.packetsLost += missing
        lostBeforeCursor += missing
        consume(upTo: end)
    }

    /// Counts a dropped frame, once for all its packets.
    mutating func countDroppedFrame(_ timestamp: Int64) {
        if timestamp != lastDroppedTimestamp { statistics.framesDropped += 1 }
        lastDroppedTimestamp = timestamp
    }

    /// Returns whether the timeout of the gap has expired.
    func isGivenUp(at now: Instant) -> Bool {
        guard let missingSince else { return false }
        return now >= missingSince + timeout
    }
}

extension JitterBuffer {
    /// Returns the next packet or gap; nil if there is none yet.
    mutating func pollAudio(at now: Instant) -> Output? {
        while true {
            if let slot = slots[cursor] {
                if slot.isPadding {
                    consume(upTo: cursor + 1)
                } else if let gap = takeGap(before: slot) {
                    return .lost(gap)
                } else if let frame = takePacket(slot) {
                    return .frame(frame)
                }
                continue
            }
            guard isGivenUp(at: now), let next = firstPresent(from: cursor) else { return nil }
            discard(upTo: next)
        }
    }

    /// Returns the gap before a packet; nil if its timestamp is the expected one, whatever sequence numbers are
    /// missing.
    private mutating func takeGap(before slot: PacketSlots.Slot) -> Gap? {
        guard lostBeforeCursor > 0 else { return nil }
        let packetCount = lostBeforeCursor
        lostBeforeCursor = 0
        guard let expectedTimestamp, slot.timestamp > expectedTimestamp else { return nil }
        let longest = Int64(packetCount) * codec.clockRate.ticks(in: OpusTOC.maximumDuration)
        return Gap(
            packetCount: packetCount, timestamp: MediaTime(ticks: expectedTimestamp, rate: codec.clockRate),
            duration: codec.clockRate.span(ofTicks: min(slot.timestamp - expectedTimestamp, longest)))
    }

    /// Returns the audio of a packet; nil if it is not valid Opus.
    private mutating func takePacket(_ slot: PacketSlots.Slot) -> Frame? {
        var bytes: [UInt8] = []
        let payload = slots.payload(of: slot).span
        let ticks = OpusTOC(payload)?.tickCount ?? 0
        depacketizer.append(payload, to: &bytes)
        let contents = depacketizer.finish(&bytes)
        statistics.malformedUnits = depacketizer.malformedUnits
        consume(upTo: slot.sequence + 1)
        guard contents != nil else {
            statistics.framesDropped += 1
            lostBeforeCursor += 1
            return nil
        }
        expectedTimestamp = slot.timestamp + ticks
        statistics.framesAssembled += 1
        statistics.keyFramesAssembled += 1
        return Frame(
            bytes: bytes, isKeyFrame: true, timestamp: MediaTime(ticks: slot.timestamp, rate: codec.clockRate),
            sequenceNumbers: slot.sequence...slot.sequence, firstArrival: slot.arrival, lastArrival: slot.arrival)
    }
}

/// Detects a restart of a source with the same SSRC: several consecutive packets that do not belong to the previous
/// stream (RFC 3550, appendix A.1).
struct RestartDetector {
    /// The number of consecutive packets that make a restart.
    static let packetsNeeded = 3

    private var expected: UInt16 = 0
    private var count = 0

    /// Records a packet that does not belong to the stream. Returns whether the source has restarted.
    mutating func unrelatedPacketArrived(_ sequenceNumber: UInt16) -> Bool {
        count = count > 0 && sequenceNumber == expected ? count + 1 : 1
        expected = sequenceNumber &+ 1
        guard count == Self.packetsNeeded else { return false }
        count = 0
        return true
    }

    /// Records a packet that belongs to the stream.
    mutating func memberArrived() { count = 0 }
}

/// The time for which a missing packet is awaited.
package enum RetransmissionTimeout {
    /// Returns the timeout of video: the time until the third request is answered, because two requests or responses
    /// may be lost. At a loss rate of 10 %, one in a thousand packets is then still missing.
    ///
    /// The timeout is at least 250 ms, because packets that the publisher's uplink lost are requested there and arrive
    /// later; a key frame would not arrive sooner. It adds no delay while nothing is missing.
    ///
    /// - Parameter roundTripTime: The round-trip time.
    /// - Returns: The timeout.
    package static func video(roundTripTime: TimeSpan) -> TimeSpan {
        let requests = Int64(3)
        let interval = NACKRequester.interval(roundTrip: roundTripTime)
        return max(interval * requests + grace, .milliseconds(250))
    }

    /// The timeout of audio without retransmission. Reordered packets arrive within it, and a lost packet is concealed
    /// well.
    package static let audio = TimeSpan.milliseconds(60)

    /// Returns the timeout of audio with retransmission: one round-trip time, from 60 to 250 ms. A second one would
    /// delay the following audio too long.
    package static func audio(roundTripTime: TimeSpan) -> TimeSpan {
        min(max(NACKRequester.interval(roundTrip: roundTripTime) + grace, audio), .milliseconds(250))
    }

    /// The time by which a response may be later than the round-trip time.
    private static let grace = TimeSpan.milliseconds(20)
}
