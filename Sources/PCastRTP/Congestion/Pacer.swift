package import PCastCore

/// Paces the sending of packets at 2.5 times the target, in bursts of at most 5 ms.
///
/// It holds no packets: the caller asks whether the next packet may be sent, and if not, asks again at the deadline.
/// Paced packets wait until half a burst may be sent, because consecutive packets are sent by one system call (GSO).
/// For the same reason a frame of usual size is sent at once unless the path is known to be limited. Audio is not
/// paced, but counts. A frame that would be queued for more than 200 ms is paced faster, so that key frames are not
/// delayed more.
///
/// Methods that are called for each packet are `mutating` even if they change nothing, which avoids copies.
package struct Pacer: Sendable {
    /// The pacing factor of libwebrtc.
    static let factor = 2.5
    /// The multiple of the wanted bit rate that limits the pace.
    private static let headroom = 2.0
    /// The pacing factor on a limited path.
    private static let limitedFactor = 1.25
    /// The share of a full path that is used for frames that a new viewer catches up with, so that its queue gets
    /// shorter.
    private static let congestedCatchUp = 0.8
    /// The maximum duration of a burst.
    static let burst = TimeSpan.milliseconds(5)
    /// The maximum duration of a frame that is sent at once. It is 40 ms of the target, which is about a frame of a
    /// stream that uses the whole bandwidth of the path. It has at most sixteen packets. libwebrtc has a similar burst
    /// (`SetSendBurstInterval`).
    static let whole = TimeSpan.milliseconds(16)
    /// The maximum size of a frame that is sent at once, in bytes.
    private static let wholeSize = 16 * packetSize
    /// The maximum time that a packet is queued.
    static let longestWait = TimeSpan.milliseconds(200)
    /// The maximum time that a packet is queued on a limited path.
    static let longestLimitedWait = TimeSpan.milliseconds(600)
    /// The maximum debt in seconds, by which packets that are not paced can delay others.
    private static let maximumDebt = 0.5
    /// The duration by which a probe may be ahead of its rate.
    private static let probeBurst = TimeSpan.milliseconds(2)
    /// The maximum duration of a probe.
    private static let maximumProbeDuration = TimeSpan.milliseconds(500)
    /// The assumed size of a packet in bytes, including headers.
    private static let packetSize = 1250.0

    /// The rate of media in bytes per second.
    private var rate: Double
    /// The rate that determines the size of bursts, in bytes per second. It is what the path is known to carry, even if
    /// less is wanted.
    private var burstRate: Double
    private var longestWait = Self.longestWait
    private var sendsWhole = true
    /// The rate of frames that a new viewer catches up with, in bytes per second.
    private var catchUpRate: Double
    /// The rate at which the debt decreases: that of media, or more if many packets are queued.
    private var pace: Double
    /// The bytes that were sent ahead of the pace.
    private var debt = 0.0
    private var updatedAt: Instant?
    /// The time at which a paced packet may be sent; nil if none is held.
    private var heldUntil: Instant?
    /// The probe in progress; nil if there is none.
    private var probe: Probe?

    /// The state of a probe.
    private struct Probe {
        var cluster: ProbeCluster
        /// The time of the first packet; nil before it.
        var start: Instant?
        var size = 0
        var count = 0
        var until: Instant

        var bytesPerSecond: Double { Double(cluster.rate.bitsPerSecond) / 8 }

        /// The time at which the next packet is due; nil before the first one.
        var next: Instant? {
            start.map { $0 + TimeSpan(seconds: Double(size) / bytesPerSecond) - Pacer.probeBurst }
        }
    }

    /// Creates a pacer.
    ///
    /// - Parameters:
    ///   - target: The initial target.
    ///   - opening: The pace until the first call of ``setTarget(_:wanted:congestionState:)``, if it is higher. The first
    ///     frame is not delayed because the path is unknown.
    ///   - wanted: The bit rate of the whole stream; nil if no frames are caught up with.
    package init(target: Bitrate, opening: Bitrate = Bitrate(bitsPerSecond: 0), wanted: Bitrate? = nil) {
        rate = max(Self.rate(target), Double(opening.bitsPerSecond) / 8)
        catchUpRate = Self.catchUpRate(target, wanted: wanted)
        pace = rate
        burstRate = rate
    }

    /// The congestion state of the path.
    package enum CongestionState: Sendable {
        /// The path carries what is wanted.
        case none
        /// The path carries less than is wanted, so large frames are sent more slowly.
        case limited
        /// More was sent than the path carries, and packets are queued on it.
        case congested
    }

    /// Sets the target. `wanted` is the bit rate of the stream; the pace does not exceed twice this rate unless the
    /// target is higher.
    package mutating func setTarget(_ target: Bitrate, wanted: Bitrate? = nil, congestionState: CongestionState = .none)
    {
        let known = Double(target.bitsPerSecond) / 8
        switch congestionState {
        case .none:
            let most = wanted.map { max(known, Double($0.bitsPerSecond) * Self.headroom / 8) } ?? .infinity
            rate = min(Self.rate(target), most)
        case .limited: rate = known * Self.limitedFactor
        case .congested: rate = known
        }
        switch congestionState {
        case .none: catchUpRate = Self.catchUpRate(target, wanted: wanted)
        case .limited: catchUpRate = known
        case .congested: catchUpRate = known * Self.congestedCatchUp
        }
        burstRate = congestionState == .none ? Self.rate(target) : rate
        longestWait = congestionState == .none ? Self.longestWait : Self.longestLimitedWait
        sendsWhole = congestionState == .none
    }

    /// Returns the rate for frames that a new viewer catches up with, in bytes per second.
    ///
    /// It is at most twice the wanted rate: it is unknown whether the path carries more, and these frames are late
    /// anyway.
    private static func catchUpRate(_ target: Bitrate, wanted: Bitrate?) -> Double {
        min(rate(target), wanted.map { Double($0.bitsPerSecond) * headroom / 8 } ?? .infinity)
    }

    /// Returns the pacing rate of a target in bytes per second.
    private static func rate(_ target: Bitrate) -> Double { Double(target.bitsPerSecond) * factor / 8 }

    /// The kind of queued packets, which determines their pace.
    package enum Backlog: Sendable {
        /// Live packets, none of which may be queued for long.
        case live
        /// An old key frame with which a new viewer begins. It is shown as soon as it is complete, so it is sent at the
        /// pacing rate. The frames since then are queued too, and are sent as ``catchUp``.
        case keyFrame
        /// The frames since an old key frame. They are late anyway, so they are sent at a limited rate.
        case catchUp
    }

    /// Returns whether the next packet may be sent now. If not, the caller asks again at the deadline. The parameters
    /// are those of ``grant(queued:waited:bytes:backlog:at:)``.
    @inline(__always)
    package mutating func mayPass(
        queued: Int, waited: TimeSpan, backlog: Backlog = .live, at now: Instant
    ) -> Bool {
        if probe != nil, mayProbe(at: now) { return true }
        // If the probe has just timed out, queued packets must be checked now, because there is no deadline for them.
        return probe == nil && grant(queued: queued, waited: waited, backlog: backlog, at: now) != nil
    }

    /// Returns the number of bytes that may be sent now.
    ///
    /// A packet may be sent while those before it do not exceed the number, so one packet always may.
    ///
    /// - Precondition: No probe is in progress.
    ///
    /// - Parameters:
    ///   - queued: The number of queued packets.
    ///   - waited: The time that the oldest one is queued.
    ///   - bytes: The size of all queued packets including headers, if they can be sent together; nil otherwise.
    ///   - backlog: The kind of the queued packets.
    ///   - now: The current time.
    /// - Returns: The number of bytes including headers; nil if the caller must wait for the deadline.
    @inline(__always)
    package mutating func grant(
        queued: Int, waited: TimeSpan, bytes: Int? = nil, backlog: Backlog = .live, at now: Instant
    ) -> Int? {
        precondition(probe == nil, "a probe must have a rate")
        if let updatedAt { debt = max(debt - pace * (now - updatedAt).seconds, 0) }
        updatedAt = now
        // The queued packets must be sent within the maximum time, which may need a faster pace than the target.
        let left = max(longestWait - waited, .milliseconds(5))
        switch backlog {
        case .live: pace = max(rate, Double(queued) * Self.packetSize / left.seconds)
        case .keyFrame: pace = rate
        case .catchUp: pace = catchUpRate
        }
        let fastest = backlog == .catchUp ? pace : max(pace, burstRate)
        let burst = fastest * Self.burst.seconds
        let limit = max(burst - Self.packetSize, 0)
        // The sent part of a frame is in the debt, so this condition holds for the whole frame or none of it.
        let whole = sendsWhole ? min(fastest * Self.whole.seconds, Self.wholeSize) : 0
        heldUntil = nil
        if let bytes, debt + Double(bytes) <= whole { return bytes }
        if debt <= limit { return Int(limit - debt) }
        let excess = debt - max(limit - burst / 2, 0)
        heldUntil = now + TimeSpan(seconds: excess / pace) + .nanoseconds(1)
        return nil
    }

    /// Records that packets were sent, paced or not. `bytes` is their size with headers.
    @inline(__always)
    package mutating func sent(bytes: Int, at now: Instant) {
        if updatedAt == nil { updatedAt = now }
        debt = min(debt + Double(bytes), rate * Self.maximumDebt)
        if probe != nil { countProbe(bytes, at: now) }
    }

    // MARK: Probes

    /// The ID of the probe of which the packets that are sent now are part; 0 if no probe is in progress.
    package var cluster: UInt16 { mutating get { probe?.cluster.id ?? 0 } }

    /// Whether a probe is in progress.
    package var isProbing: Bool { mutating get { probe != nil } }

    /// The size of padding packets with which a probe has its minimum number of packets; nil if no probe is in
    /// progress.
    package var paddingSize: Int? { probe.map { $0.cluster.size / ProbeCluster.minimumPackets } }

    /// Begins a probe. Media is sent at its rate, and padding if no media is queued.
    package mutating func begin(_ cluster: ProbeCluster, at now: Instant) {
        probe = Probe(cluster: cluster, until: now + Self.maximumProbeDuration)
        heldUntil = now
    }

    /// Returns whether a packet of the probe may be sent now.
    package mutating func mayProbe(at now: Instant) -> Bool {
        guard let probe else { return false }
        if now >= probe.until {
            endProbe()
            return false
        }
        guard let next = probe.next, next > now else { return true }
        heldUntil = next
        return false
    }

    /// Counts a packet of the probe, which ends with its last one.
    private mutating func countProbe(_ bytes: Int, at now: Instant) {
        if probe!.start == nil { probe!.start = now }
        probe!.size += bytes
        probe!.count += 1
        let isWhole = probe!.size >= probe!.cluster.size && probe!.count >= ProbeCluster.minimumPackets
        if isWhole { endProbe() } else { heldUntil = probe!.next }
    }

    /// Records that no packet is queued, which ends a probe.
    package mutating func nothingWaits() {
        if probe != nil { endProbe() }
        heldUntil = nil
    }

    /// Ends the probe. Bytes that it has sent ahead of the usual pace do not delay later packets by more than a burst.
    private mutating func endProbe() {
        probe = nil
        heldUntil = nil
        debt = min(debt, burstRate * Self.burst.seconds)
    }

    // MARK: Time

    /// The time at which a paced packet or a probe may be sent; nil if none is held.
    package var deadline: Instant? { mutating get { heldUntil } }
}

/// A bandwidth probe: packets that are sent together at a rate above the present one, to measure whether the path
/// carries it. As in libwebrtc it has at least five packets and lasts 15 ms.
package struct ProbeCluster: Hashable, Sendable {
    /// The minimum number of packets.
    package static let minimumPackets = 5
    /// The duration at the rate of the probe.
    static let duration = TimeSpan.milliseconds(15)

    /// The ID; never 0, which means no probe.
    package let id: UInt16
    /// The bit rate at which the packets are sent.
    package let rate: Bitrate

    /// The number of bytes to send.
    package var size: Int { Int(Double(rate.bitsPerSecond) / 8 * Self.duration.seconds) }
}
