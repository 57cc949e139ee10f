import PCastMedia

extension JitterBuffer {
    mutating func pollVideo(at now: Instant) -> Frame? {
        if let began = beganAt, now >= began + overtaking { beganAt = nil }
        while true {
            passPadding()
            if awaitsKeyFrame, let start = newestCompleteKeyFrame() {
                discard(upTo: start.lowerBound)
                if let frame = assemble(start) { return frame }
                continue
            }
            if let end = FrameBoundary.end(ofFrameAt: cursor, in: slots) {
                if awaitsKeyFrame {
                    // It can not be decoded, unless the packet before it turns out to begin the stream.
                    guard beganAt == nil else { return nil }
                    discard(upTo: end + 1)
                } else if let frame = assemble(cursor...end) {
                    return frame
                }
                continue
            }
            if isGivenUp(at: now) { despair() }
            guard isAbandoned(at: now) || mayJump else { return nil }
            giveUpHole()
        }
    }

    /// Whether frames wait only because the stream may turn out to begin earlier.
    var holdsUnsettledFrame: Bool { awaitsKeyFrame && beganAt != nil && slots.count > 0 }

    private mutating func passPadding() {
        var end = cursor
        while let slot = slots[end], slot.isPadding { end += 1 }
        if end > cursor { consume(upTo: end) }
    }

    /// The key frame to go on with after a hole: the newest, so that a stall is not shown late (JB2).
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

    /// The first packet of the frame that is here: what stands before the first slice, such as parameter sets in any order,
    /// belongs to it.
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

    private func isDecodable(_ start: KeyFrameDetector.Finding, at sequence: Int64) -> Bool {
        start == .keyFrame || depacketizer.hasParameterSets || hasParameterSets(before: sequence)
    }

    /// Whether there are parameter sets that are not read yet, of the same frame or of one before it.
    private func hasParameterSets(before sequence: Int64) -> Bool {
        (cursor..<sequence).contains { slots[$0]?.start == .parameterSets }
    }

    /// The hole has been waited for long enough: a key frame is asked for, unless one is behind it already.
    private mutating func despair() {
        guard hopelessSince != missingSince else { return }
        hopelessSince = missingSince
        isHopeless = !hasKeyFrameBehindHole
    }

    private var hasKeyFrameBehindHole: Bool {
        guard slots.keyFrameStartCount > 0, let newest, newest > firstMissing else { return false }
        return (firstMissing...newest).contains { slots[$0]?.start.isKeyFrame ?? false }
    }

    /// Whether the hole's last patience has ended, too.
    private func isAbandoned(at now: Instant) -> Bool {
        missingSince.map { now >= $0 + lastPatience } ?? false
    }

    /// Whether a complete key frame is behind the hole, and the hole hopeless or so long that waiting on is only delay.
    private var mayJump: Bool {
        guard missingSince != nil, slots.keyFrameStartCount > 0 else { return false }
        let span = codec.clockRate.ticks(in: Self.maximumSpan)
        let isLong = expectedTimestamp.map { newestTimestamp - $0 > span } ?? false
        guard isLong || hopelessSince == missingSince else { return false }
        return newestCompleteKeyFrame() != nil
    }

    private mutating func giveUpHole() {
        awaitsKeyFrame = true
        discard(upTo: firstPresent(from: firstMissing) ?? firstMissing)
    }

    /// Puts the frame of these packets together, all of which are here, and moves on behind it. Nil when it is
    /// damaged, or holds no picture.
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
            depacketizer.append(slots.payload(of: slot).assumingMemoryBound(to: UInt8.self).span, to: &bytes)
        }
        let contents = depacketizer.finish(&bytes)
        statistics.malformedUnits = depacketizer.malformedUnits
        consume(upTo: packets.upperBound + 1)
        expectedTimestamp = first.timestamp
        guard let contents, !contents.hasPicture || contents.isKeyFrame || !awaitsKeyFrame else {
            countDroppedFrame(first.timestamp)
            awaitsKeyFrame = true
            return nil
        }
        guard contents.hasPicture else { return nil }
        awaitsKeyFrame = false
        statistics.framesAssembled += 1
        if contents.isKeyFrame { statistics.keyFramesAssembled += 1 }
        return Frame(
            bytes: bytes, isKeyFrame: contents.isKeyFrame,
            timestamp: MediaTime(ticks: first.timestamp, rate: codec.clockRate), sequenceNumbers: packets,
            firstArrival: firstArrival, lastArrival: lastArrival)
    }

    /// Room for the frame: its payloads and a start code for each.
    private func byteCount(of packets: ClosedRange<Int64>) -> Int {
        packets.reduce(0) { $0 + (slots[$1]?.length ?? 0) + 4 }
    }
}
