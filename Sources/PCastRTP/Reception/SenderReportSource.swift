public import PCastMedia

/// What the sender reports of one stream say, and when they are sent.
///
/// The first goes with the first frame, then one every 500 ms for 5 s, then one a second, so that a receiver that has
/// just joined can align sound and picture early (RTCP1).
public struct SenderReportSource: Sendable {
    public let ssrc: UInt32
    public let clockRate: ClockRate

    /// Packets and payload bytes sent; both wrap in reports.
    public private(set) var packetCount: Int64 = 0
    public private(set) var octetCount: Int64 = 0

    /// When a report is due; nil before the first packet. It goes behind packets that leave, in one message with them where
    /// their sizes allow it: alone it costs the relay of thousands as much as a picture does.
    public private(set) var due: Instant?

    /// When it has waited long enough for packets; nil before the first.
    public var deadline: Instant? { due.map { $0 + Self.patience } }

    /// The newest packet in order, which reports extrapolate from (RTCP2).
    private var newest: (sequence: Int64, timestamp: UInt32, time: WallTime)?
    private var hurryUntil = Instant(nanoseconds: 0)

    private static let hurry = TimeSpan.milliseconds(5000)
    private static let hurriedInterval = TimeSpan.milliseconds(500)
    private static let interval = TimeSpan.milliseconds(1000)
    /// More than from one picture to the next.
    static let patience = TimeSpan.milliseconds(50)

    public init(ssrc: UInt32, clockRate: ClockRate) {
        self.ssrc = ssrc
        self.clockRate = clockRate
    }

    /// Counts a packet as it leaves: its number unwrapped, its timestamp as sent, and the wall time at which its
    /// frame was captured, by the clock that reports give. One that is not the newest is only counted.
    public mutating func sent(
        sequence: Int64, timestamp: UInt32, capturedAt time: WallTime, payloadSize: Int, at now: Instant
    ) {
        packetCount += 1
        octetCount += Int64(payloadSize)
        if due == nil { mappingChanged(at: now) }
        if let newest, sequence <= newest.sequence { return }
        newest = (sequence, timestamp, time)
    }

    /// Counts a packet of which nobody knows when its frame was captured.
    public mutating func count(payloadSize: Int) {
        packetCount += 1
        octetCount += Int64(payloadSize)
    }

    /// Counts a further packet of the frame that was sent last; false for one of another frame, of which `sent` wants to
    /// know when it was captured.
    @inline(__always)
    public mutating func sentMore(sequence: Int64, timestamp: UInt32, payloadSize: Int) -> Bool {
        guard due != nil, newest?.timestamp == timestamp else { return false }
        packetCount += 1
        octetCount += Int64(payloadSize)
        if sequence > newest!.sequence { newest!.sequence = sequence }
        return true
    }

    /// Timestamps now come from elsewhere (another layer, another source): the next packet is the new reference, and
    /// reports begin anew as at the start (RTCP1).
    public mutating func mappingChanged(at now: Instant) {
        newest = nil
        due = now
        hurryUntil = now + Self.hurry
    }

    /// The report that is due, nil when none is. `wall` is the same moment as `now`.
    public mutating func poll(at now: Instant, wall: WallTime) -> SenderInformation? {
        guard let due, now >= due, let report = report(at: wall) else { return nil }
        self.due = now + (now < hurryUntil ? Self.hurriedInterval : Self.interval)
        return report
    }

    /// A report for this moment; nil before any packet.
    public func report(at wall: WallTime) -> SenderInformation? {
        guard let newest else { return nil }
        let elapsed = UInt32(truncatingIfNeeded: clockRate.ticks(in: wall - newest.time))
        return SenderInformation(
            ssrc: ssrc, ntpTimestamp: wall.ntpTimestamp, rtpTimestamp: newest.timestamp &+ elapsed,
            packetCount: UInt32(truncatingIfNeeded: packetCount), octetCount: UInt32(truncatingIfNeeded: octetCount))
    }
}
