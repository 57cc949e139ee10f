import PCastCore

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
        let payload = slots.payload(of: slot).assumingMemoryBound(to: UInt8.self).span
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
