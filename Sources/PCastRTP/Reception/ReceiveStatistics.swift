package import PCastCore

/// The reception statistics of a stream, from which its receiver creates report blocks (RFC 3550, appendices A.1, A.3
/// and A.8).
package struct ReceiveStatistics: Sendable {
    /// The relation of a packet to the preceding ones.
    package enum Arrival: Hashable, Sendable {
        /// The packet is the next one, or follows a small gap.
        case inOrder
        /// The packet precedes the newest one: it is late, a retransmission or a duplicate.
        case late
        /// The sequence number is far from the others. The packet is not counted unless the next number follows.
        case suspicious
        /// The source has restarted its sequence numbers, so that state about earlier packets is invalid.
        case restarted
    }

    /// The SSRC of the stream.
    package let ssrc: UInt32
    /// The clock rate of the stream.
    package let clockRate: ClockRate

    /// The number of packets since the source started, with duplicates.
    package private(set) var received: Int64 = 0

    /// The first sequence number since the source started; nil before the first packet.
    private var base: Int64?
    /// The highest sequence number since the source started, without wraparound.
    private var highest: Int64 = 0

    /// The sequence number that would confirm a restart.
    private var expectedAfterJump: UInt16?
    /// The number of consecutive packets with such a number.
    private var confirmations = 0

    /// The number of expected packets at the last report block.
    private var priorExpected: Int64 = 0
    /// The number of received packets at the last report block.
    private var priorReceived: Int64 = 0

    /// The arrival time minus the timestamp of the last packet in ticks, with wraparound; nil before the first packet.
    private var transit: UInt32?
    /// The jitter in sixteenths of a tick (RFC 3550, appendix A.8).
    private var scaledJitter: Int64 = 0

    /// The last sender report and its arrival time; nil before the first.
    private var lastSenderReport: (compactTimestamp: UInt32, arrival: Instant)?

    /// The timestamp of the newest packet.
    private var newestTimestamp: UInt32 = 0

    /// The maximum forward step of a sequence number without a restart (RFC 3550, appendix A.1).
    private static let maximumDropout = 3000
    /// The maximum backward step of a sequence number without a restart. It is larger than the 100 of RFC 3550,
    /// appendix A.1, because of retransmissions without RTX.
    private static let maximumReordering = 3000
    /// The number of consecutive packets that confirm a restart.
    private static let restartConfirmations = 2
    /// The maximum change of the transit time that counts as jitter; a larger one is a change of the clock.
    private static let maximumTransitStep = TimeSpan.milliseconds(10_000)

    /// Creates statistics without packets.
    package init(ssrc: UInt32, clockRate: ClockRate) {
        self.ssrc = ssrc
        self.clockRate = clockRate
    }

    /// Counts a packet, and returns its relation to the preceding ones. A retransmission does not affect the jitter.
    package mutating func received(
        sequenceNumber: UInt16, timestamp: UInt32, isRetransmission: Bool = false, at now: Instant
    ) -> Arrival {
        let arrival = classify(sequenceNumber, timestamp, isRetransmission)
        guard arrival != .suspicious else { return arrival }
        received += 1
        if arrival != .late { newestTimestamp = timestamp }
        if !isRetransmission, arrival != .late { updateJitter(timestamp: timestamp, at: now) }
        return arrival
    }

    /// Stores a sender report of the stream, which the next report block refers to.
    package mutating func received(_ report: SenderInformation, at now: Instant) {
        lastSenderReport = (report.compactTimestamp, now)
    }

    /// Returns the relation of a packet to the preceding ones, and updates the highest number.
    private mutating func classify(
        _ sequenceNumber: UInt16, _ timestamp: UInt32, _ isRetransmission: Bool
    ) -> Arrival {
        guard base != nil else {
            start(at: sequenceNumber)
            return .inOrder
        }
        let step = Int(Int16(truncatingIfNeeded: Int64(sequenceNumber) - highest))
        switch step {
        case 1...Self.maximumDropout:
            highest += Int64(step)
            expectedAfterJump = nil
            return .inOrder
        case -Self.maximumReordering...0:
            // An older packet cannot have a newer timestamp, unless the sequence numbers have restarted.
            let isNewer = step < 0 && Int32(bitPattern: timestamp &- newestTimestamp) > 0
            return isNewer && !isRetransmission ? confirmJump(sequenceNumber) : .late
        default:
            return isRetransmission ? .late : confirmJump(sequenceNumber)
        }
    }

    /// Counts consecutive numbers after a jump, and restarts if there are enough.
    private mutating func confirmJump(_ sequenceNumber: UInt16) -> Arrival {
        confirmations = sequenceNumber == expectedAfterJump ? confirmations + 1 : 1
        expectedAfterJump = sequenceNumber &+ 1
        guard confirmations >= Self.restartConfirmations else { return .suspicious }
        start(at: sequenceNumber)
        return .restarted
    }

    /// Starts the statistics with a packet.
    private mutating func start(at sequenceNumber: UInt16) {
        base = Int64(sequenceNumber)
        highest = Int64(sequenceNumber)
        received = 0
        priorExpected = 0
        priorReceived = 0
        expectedAfterJump = nil
        transit = nil
    }

    /// Updates the interarrival jitter (RFC 3550, appendix A.8).
    private mutating func updateJitter(timestamp: UInt32, at now: Instant) {
        let arrival = clockRate.ticks(in: TimeSpan(nanoseconds: now.nanoseconds))
        let transit = UInt32(truncatingIfNeeded: arrival) &- timestamp
        defer { self.transit = transit }
        guard let last = self.transit else { return }
        let step = Int64(Int32(bitPattern: transit &- last).magnitude)
        guard step <= clockRate.ticks(in: Self.maximumTransitStep) else { return }
        scaledJitter += step - (scaledJitter + 8) >> 4
    }
}

extension ReceiveStatistics {
    /// The number of packets since the source started, according to the sequence numbers.
    package var expected: Int64 { base.map { highest - $0 + 1 } ?? 0 }

    /// The number of lost packets since the source started; negative if there were more duplicates.
    package var lost: Int64 { expected - received }

    /// The highest sequence number, with the number of wraparounds in the upper half.
    package var highestSequenceNumber: UInt32 { UInt32(truncatingIfNeeded: highest) }

    /// The interarrival jitter in ticks of the clock rate.
    package var jitter: UInt32 { UInt32(truncatingIfNeeded: scaledJitter >> 4) }

    /// Returns the block for the next report; nil before the first packet. The fraction of lost packets covers the time
    /// since the last call.
    package mutating func reportBlock(at now: Instant) -> ReportBlock? {
        guard base != nil else { return nil }
        let fraction = takeFractionLost()
        return ReportBlock(
            ssrc: ssrc, fractionLost: fraction,
            cumulativeLost: Int32(min(max(lost, -0x80_0000), 0x7F_FFFF)),
            highestSequenceNumber: highestSequenceNumber, jitter: jitter,
            lastSenderReport: lastSenderReport?.compactTimestamp ?? 0,
            delaySinceLastSenderReport: lastSenderReport.map { CompactTime(now - $0.arrival).rawValue } ?? 0)
    }

    /// Returns the fraction of lost packets since the last call in units of 1/256 (RFC 3550, appendix A.3); 0 if more
    /// packets arrived than expected.
    private mutating func takeFractionLost() -> UInt8 {
        let expectedInterval = expected - priorExpected
        let lostInterval = expectedInterval - (received - priorReceived)
        priorExpected = expected
        priorReceived = received
        guard expectedInterval > 0, lostInterval > 0 else { return 0 }
        return UInt8(min(lostInterval << 8 / expectedInterval, 255))
    }
}
