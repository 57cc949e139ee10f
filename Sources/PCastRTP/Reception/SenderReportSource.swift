package import PCastCore

/// Creates the sender reports of a stream, and determines when to send them.
///
/// The first one is sent with the first frame, so that a new receiver can synchronize audio and video early. Further
/// ones are sent every 500 ms for 5 s, and then every second.
package struct SenderReportSource: Sendable {
    /// The SSRC of the stream.
    package let ssrc: UInt32
    /// The clock rate of the stream.
    package let clockRate: ClockRate

    /// The number of packets sent; it wraps around in reports.
    package private(set) var packetCount: Int64 = 0
    /// The number of payload bytes sent; it wraps around in reports.
    package private(set) var octetCount: Int64 = 0

    /// The time at which a report is due; nil before the first packet. The report is sent after media packets, in the
    /// same system call if possible. For an SFU with thousands of viewers, a separate call costs as much as one for a
    /// frame.
    package private(set) var due: Instant?

    /// The time at which the report is sent without media packets; nil before the first packet.
    package var deadline: Instant? { due.map { $0 + Self.timeout } }

    /// The newest packet, from which reports extrapolate the timestamp.
    private var newest: (sequence: Int64, timestamp: UInt32, time: WallTime)?
    /// The end of the time with frequent reports.
    private var fastUntil = Instant(nanoseconds: 0)

    /// The duration of frequent reports.
    private static let fastDuration = TimeSpan.milliseconds(5000)
    /// The interval of frequent reports.
    private static let fastInterval = TimeSpan.milliseconds(500)
    /// The interval of reports.
    private static let interval = TimeSpan.milliseconds(1000)
    /// The time for which a report waits for media packets: more than the interval of two frames.
    static let timeout = TimeSpan.milliseconds(50)

    /// Creates a source without packets.
    package init(ssrc: UInt32, clockRate: ClockRate) {
        self.ssrc = ssrc
        self.clockRate = clockRate
    }

    /// Counts a sent packet, and stores its timestamp and capture time if it is the newest.
    ///
    /// - Parameters:
    ///   - sequence: The unwrapped sequence number.
    ///   - timestamp: The timestamp of the packet.
    ///   - time: The wall-clock time at which the frame was captured.
    ///   - payloadSize: The size of the payload in bytes.
    ///   - now: The current time.
    package mutating func sent(
        sequence: Int64, timestamp: UInt32, capturedAt time: WallTime, payloadSize: Int, at now: Instant
    ) {
        packetCount += 1
        octetCount += Int64(payloadSize)
        if due == nil { mappingChanged(at: now) }
        if let newest, sequence <= newest.sequence { return }
        newest = (sequence, timestamp, time)
    }

    /// Counts a sent packet without a known capture time.
    package mutating func count(payloadSize: Int) {
        packetCount += 1
        octetCount += Int64(payloadSize)
    }

    /// Counts another packet of the frame that was sent last. Returns false, without counting, if the packet is of
    /// another frame, whose capture time is needed.
    @inline(__always)
    package mutating func sentMore(sequence: Int64, timestamp: UInt32, payloadSize: Int) -> Bool {
        guard due != nil, newest?.timestamp == timestamp else { return false }
        packetCount += 1
        octetCount += Int64(payloadSize)
        if sequence > newest!.sequence { newest!.sequence = sequence }
        return true
    }

    /// Restarts the reports, because the timestamps have another origin, such as another layer. The next packet is the
    /// new reference.
    package mutating func mappingChanged(at now: Instant) {
        newest = nil
        due = now
        fastUntil = now + Self.fastDuration
    }

    /// Returns the report if one is due; nil otherwise. `wall` is the wall-clock time at `now`.
    package mutating func poll(at now: Instant, wall: WallTime) -> SenderInformation? {
        guard let due, now >= due, let report = report(at: wall) else { return nil }
        self.due = now + (now < fastUntil ? Self.fastInterval : Self.interval)
        return report
    }

    /// Returns a report for a time; nil before the first packet.
    package func report(at wall: WallTime) -> SenderInformation? {
        guard let newest else { return nil }
        let elapsed = UInt32(truncatingIfNeeded: clockRate.ticks(in: wall - newest.time))
        return SenderInformation(
            ssrc: ssrc, ntpTimestamp: wall.ntpTimestamp, rtpTimestamp: newest.timestamp &+ elapsed,
            packetCount: UInt32(truncatingIfNeeded: packetCount), octetCount: UInt32(truncatingIfNeeded: octetCount))
    }
}
