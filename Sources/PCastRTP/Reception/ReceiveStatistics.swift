public import PCastMedia

/// What arrived of one stream, as its receiver reports it (RFC 3550, appendices A.1, A.3 and A.8).
public struct ReceiveStatistics: Sendable {
    /// How a packet stands to those before it.
    public enum Arrival: Hashable, Sendable {
        /// The next packet, or one beyond a small gap.
        case inOrder
        /// A packet from before the newest: late, sent again, or twice.
        case late
        /// A number far from all before. It is left out until another follows it.
        case suspicious
        /// The source has started over: what was remembered of it means nothing more (RTP11).
        case restarted
    }

    public let ssrc: UInt32
    public let clockRate: ClockRate

    /// Packets since the source started, those that came twice included.
    public private(set) var received: Int64 = 0

    /// The first and the highest number, extended by wraps, since the source started.
    private var base: Int64?
    private var highest: Int64 = 0

    /// The number that would confirm a restart, and how many have come in a row.
    private var expectedAfterJump: UInt16?
    private var confirmations = 0

    private var priorExpected: Int64 = 0
    private var priorReceived: Int64 = 0

    /// Arrival less timestamp of the last packet, in ticks that wrap.
    private var transit: UInt32?
    /// In sixteenths of a tick (RFC 3550, appendix A.8).
    private var scaledJitter: Int64 = 0

    private var lastSenderReport: (compactTimestamp: UInt32, arrival: Instant)?

    /// The timestamp of the newest packet.
    private var newestTimestamp: UInt32 = 0

    /// A number may be this far ahead and still belong to the same run (RFC 3550, appendix A.1).
    private static let maximumDropout = 3000
    /// A number may be this far behind. Far more than the 100 of appendix A.1, for packets sent again without RTX.
    private static let maximumMisorder = 3000
    /// Packets in a row that make a far number a restart.
    private static let restartConfirmations = 2
    /// A step of the transit time beyond this is a new clock and not jitter.
    private static let maximumTransitStep = TimeSpan.milliseconds(10_000)

    public init(ssrc: UInt32, clockRate: ClockRate) {
        self.ssrc = ssrc
        self.clockRate = clockRate
    }

    /// Counts a packet. One that was sent again says nothing of the network's jitter (NACK7).
    public mutating func received(
        sequenceNumber: UInt16, timestamp: UInt32, isRetransmission: Bool = false, at now: Instant
    ) -> Arrival {
        let arrival = place(sequenceNumber, timestamp, isRetransmission)
        guard arrival != .suspicious else { return arrival }
        received += 1
        if arrival != .late { newestTimestamp = timestamp }
        if !isRetransmission, arrival != .late { updateJitter(timestamp: timestamp, at: now) }
        return arrival
    }

    /// Notes the stream's sender report, for the block to name it.
    public mutating func received(_ report: SenderInformation, at now: Instant) {
        lastSenderReport = (report.compactTimestamp, now)
    }

    private mutating func place(
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
        case -Self.maximumMisorder...0:
            // A packet from before the newest cannot be of a later time, unless the source has gone back in numbers.
            let isNewer = step < 0 && Int32(bitPattern: timestamp &- newestTimestamp) > 0
            return isNewer && !isRetransmission ? confirmJump(sequenceNumber) : .late
        default:
            return isRetransmission ? .late : confirmJump(sequenceNumber)
        }
    }

    private mutating func confirmJump(_ sequenceNumber: UInt16) -> Arrival {
        confirmations = sequenceNumber == expectedAfterJump ? confirmations + 1 : 1
        expectedAfterJump = sequenceNumber &+ 1
        guard confirmations >= Self.restartConfirmations else { return .suspicious }
        start(at: sequenceNumber)
        return .restarted
    }

    private mutating func start(at sequenceNumber: UInt16) {
        base = Int64(sequenceNumber)
        highest = Int64(sequenceNumber)
        received = 0
        priorExpected = 0
        priorReceived = 0
        expectedAfterJump = nil
        transit = nil
    }

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
    /// Packets that the numbers say were sent since the source started.
    public var expected: Int64 { base.map { highest - $0 + 1 } ?? 0 }

    /// Packets missing since the source started; negative when some came twice.
    public var lost: Int64 { expected - received }

    /// The highest number, its wraps counted in the upper half.
    public var highestSequenceNumber: UInt32 { UInt32(truncatingIfNeeded: highest) }

    /// In ticks of the clock rate.
    public var jitter: UInt32 { UInt32(truncatingIfNeeded: scaledJitter >> 4) }

    /// The block for the next report; the fraction lost counts from this call to the next. Nil before any packet.
    public mutating func reportBlock(at now: Instant) -> ReportBlock? {
        guard base != nil else { return nil }
        let fraction = takeFractionLost()
        return ReportBlock(
            ssrc: ssrc, fractionLost: fraction,
            cumulativeLost: Int32(min(max(lost, -0x80_0000), 0x7F_FFFF)),
            highestSequenceNumber: highestSequenceNumber, jitter: jitter,
            lastSenderReport: lastSenderReport?.compactTimestamp ?? 0,
            delaySinceLastSenderReport: lastSenderReport.map { CompactTime(now - $0.arrival).rawValue } ?? 0)
    }

    /// RFC 3550, appendix A.3: in 256ths, none when more came than were expected.
    private mutating func takeFractionLost() -> UInt8 {
        let expectedInterval = expected - priorExpected
        let lostInterval = expectedInterval - (received - priorReceived)
        priorExpected = expected
        priorReceived = received
        guard expectedInterval > 0, lostInterval > 0 else { return 0 }
        return UInt8(min(lostInterval << 8 / expectedInterval, 255))
    }
}
