public import PCastMedia

/// Spreads what leaves over time: at two and a half times the target, in bursts of at most 5 ms of that. What is held
/// back waits until half a burst may leave at once, for neighbours leave in one system call and single ones do not (IO2).
/// A picture leaves whole for the same reason, if it is not much larger than others, where the path is not known to be
/// narrow.
///
/// What is asked for each packet is `mutating` though it changes nothing: nothing is asked of a copy.
///
/// It holds no packets: whoever has some asks whether the next may pass, and if not, comes again at the deadline. Sound
/// is not asked about, and counts all the same. A frame that would wait for longer than 200 ms is paced faster, so
/// that a key frame is not late by more than that (CC11).
public struct Pacer: Sendable {
    /// libwebrtc's pacing factor.
    static let factor = 2.5
    private static let headroom = 2.0
    private static let limitedFactor = 1.25
    /// Of what passes on a full path, for frames that a new viewer catches up with: the queue there becomes shorter.
    private static let congestedCatchUp = 0.8
    static let burst = TimeSpan.milliseconds(5)
    /// What waits leaves whole if it is not more than this of the pace, which is 40 ms of what the path is known to carry and
    /// so a picture of a stream that it just carries, nor more than sixteen packets (IO3). libwebrtc's pacer has such a burst too
    /// (`SetSendBurstInterval`).
    static let whole = TimeSpan.milliseconds(16)
    private static let wholeSize = 16 * packetSize
    static let longestWait = TimeSpan.milliseconds(200)
    static let longestLimitedWait = TimeSpan.milliseconds(600)
    /// What is not asked about may exceed the pace; the rest is not held back for longer than this, in seconds.
    private static let longestDebt = 0.5
    /// What a probe may be ahead of its rate.
    private static let probeBurst = TimeSpan.milliseconds(2)
    private static let probePatience = TimeSpan.milliseconds(500)
    /// What the next packet may be, in bytes on the wire.
    private static let packetSize = 1250.0

    /// The rate of media in bytes a second.
    private var rate: Double
    /// By which bursts are measured: what the path is known to carry, where that is more than is asked of it.
    private var burstRate: Double
    private var longestWait = Self.longestWait
    private var sendsWhole = true
    /// The rate of frames that a new viewer catches up with.
    private var catchUpRate: Double
    /// At which the debt is worked off: the rate, or more while much waits.
    private var pace: Double
    /// What left and is not yet worked off, in bytes.
    private var debt = 0.0
    private var updatedAt: Instant?
    /// When what was held back may pass.
    private var heldUntil: Instant?
    private var probe: Probe?

    private struct Probe {
        var cluster: ProbeCluster
        /// When its first packet left.
        var start: Instant?
        var size = 0
        var count = 0
        var until: Instant

        var bytesPerSecond: Double { Double(cluster.rate.bitsPerSecond) / 8 }

        /// When the next packet is due.
        var next: Instant? {
            start.map { $0 + TimeSpan(seconds: Double(size) / bytesPerSecond) - Pacer.probeBurst }
        }
    }

    /// - Parameters:
    ///   - opening: the pace until a target is set for the first time, if it is more: the first picture of a call is not to
    ///     wait for what nothing is known of.
    ///   - wanted: what the whole stream has; nil where nothing is caught up with.
    public init(target: Bitrate, opening: Bitrate = Bitrate(bitsPerSecond: 0), wanted: Bitrate? = nil) {
        rate = max(Self.rate(target), Double(opening.bitsPerSecond) / 8)
        catchUpRate = Self.catchUpRate(target, wanted: wanted)
        pace = rate
        burstRate = rate
    }

    /// How full the path is.
    public enum Pressure: Sendable {
        case none
        /// It carries less than is wanted: a large frame takes the time that it takes.
        case limited
        /// More than it carries stands on it already.
        case congested
    }

    /// - Parameter wanted: what the whole stream has: more than twice that is not asked of a path, unless it is known to
    ///   carry it.
    public mutating func setTarget(_ target: Bitrate, wanted: Bitrate? = nil, pressure: Pressure = .none) {
        let known = Double(target.bitsPerSecond) / 8
        switch pressure {
        case .none:
            let most = wanted.map { max(known, Double($0.bitsPerSecond) * Self.headroom / 8) } ?? .infinity
            rate = min(Self.rate(target), most)
        case .limited: rate = known * Self.limitedFactor
        case .congested: rate = known
        }
        switch pressure {
        case .none: catchUpRate = Self.catchUpRate(target, wanted: wanted)
        case .limited: catchUpRate = known
        case .congested: catchUpRate = known * Self.congestedCatchUp
        }
        burstRate = pressure == .none ? Self.rate(target) : rate
        longestWait = pressure == .none ? Self.longestWait : Self.longestLimitedWait
        sendsWhole = pressure == .none
    }

    /// Twice what is wanted: nobody knows whether the path carries more, and these frames are late in any case.
    private static func catchUpRate(_ target: Bitrate, wanted: Bitrate?) -> Double {
        min(rate(target), wanted.map { Double($0.bitsPerSecond) * headroom / 8 } ?? .infinity)
    }

    private static func rate(_ target: Bitrate) -> Double { Double(target.bitsPerSecond) * factor / 8 }

    /// What waits to be sent.
    public enum Backlog: Sendable {
        /// Packets of which none is to wait for long.
        case live
        /// An old key frame, to be seen soon, with more behind it.
        case keyFrame
        /// Frames since an old key frame, which take the time that they take.
        case catchUp
    }

    /// Whether the next packet may leave now; if not, it is asked again at the deadline.
    ///
    /// - Parameters: see `grant`.
    @inline(__always)
    public mutating func mayPass(
        queued: Int, waited: TimeSpan, backlog: Backlog = .live, at now: Instant
    ) -> Bool {
        if probe != nil, mayProbe(at: now) { return true }
        // One that has taken too long has just ended, and nobody would come again for what waits.
        return probe == nil && grant(queued: queued, waited: waited, backlog: backlog, at: now) != nil
    }

    /// How much may leave now; nil if nothing may, and then it is asked again at the deadline. Packets leave while those
    /// before them are no more than that, so one may always.
    ///
    /// - Parameters:
    ///   - queued: packets that wait.
    ///   - waited: how long the oldest of them has.
    ///   - bytes: of all of them on the wire, where they may leave together; nil where not.
    ///   - backlog: what they are.
    /// - Returns: bytes on the wire.
    /// - Precondition: no probe goes on.
    @inline(__always)
    public mutating func grant(
        queued: Int, waited: TimeSpan, bytes: Int? = nil, backlog: Backlog = .live, at now: Instant
    ) -> Int? {
        precondition(probe == nil, "a probe has its own pace")
        if let updatedAt { debt = max(debt - pace * (now - updatedAt).seconds, 0) }
        updatedAt = now
        // What has to leave within the longest wait sets the pace when the target does not.
        let left = max(longestWait - waited, .milliseconds(5))
        switch backlog {
        case .live: pace = max(rate, Double(queued) * Self.packetSize / left.seconds)
        case .keyFrame: pace = rate
        case .catchUp: pace = catchUpRate
        }
        let fastest = backlog == .catchUp ? pace : max(pace, burstRate)
        let burst = fastest * Self.burst.seconds
        let limit = max(burst - Self.packetSize, 0)
        // What has left of the picture counts as debt, so that this holds for all of it or for nothing.
        let whole = sendsWhole ? min(fastest * Self.whole.seconds, Self.wholeSize) : 0
        heldUntil = nil
        if let bytes, debt + Double(bytes) <= whole { return bytes }
        if debt <= limit { return Int(limit - debt) }
        let excess = debt - max(limit - burst / 2, 0)
        heldUntil = now + TimeSpan(seconds: excess / pace) + .nanoseconds(1)
        return nil
    }

    /// Packets leave, paced or not.
    ///
    /// - Parameter bytes: on the wire.
    @inline(__always)
    public mutating func sent(bytes: Int, at now: Instant) {
        if updatedAt == nil { updatedAt = now }
        debt = min(debt + Double(bytes), rate * Self.longestDebt)
        if probe != nil { countProbe(bytes, at: now) }
    }

    // MARK: Probes

    /// The probe that packets belong to which leave now; 0 for none.
    public var cluster: UInt16 { mutating get { probe?.cluster.id ?? 0 } }

    public var isProbing: Bool { mutating get { probe != nil } }

    /// How large packets of padding shall be, so that as few as there have to be make the probe whole; nil without one.
    public var paddingSize: Int? { probe.map { $0.cluster.size / ProbeCluster.minimumPackets } }

    /// Media that waits goes at the probe's rate from now on, and padding where none does.
    public mutating func begin(_ cluster: ProbeCluster, at now: Instant) {
        probe = Probe(cluster: cluster, until: now + Self.probePatience)
        heldUntil = now
    }

    /// Whether the probe wants a packet now.
    public mutating func mayProbe(at now: Instant) -> Bool {
        guard let probe else { return false }
        if now >= probe.until {
            endProbe()
            return false
        }
        guard let next = probe.next, next > now else { return true }
        heldUntil = next
        return false
    }

    private mutating func countProbe(_ bytes: Int, at now: Instant) {
        if probe!.start == nil { probe!.start = now }
        probe!.size += bytes
        probe!.count += 1
        let isWhole = probe!.size >= probe!.cluster.size && probe!.count >= ProbeCluster.minimumPackets
        if isWhole { endProbe() } else { heldUntil = probe!.next }
    }

    /// Nothing waits to be sent, and a probe cannot go on.
    public mutating func nothingWaits() {
        if probe != nil { endProbe() }
        heldUntil = nil
    }

    /// What the probe sent ahead of the usual pace is not made up for by silence.
    private mutating func endProbe() {
        probe = nil
        heldUntil = nil
        debt = min(debt, burstRate * Self.burst.seconds)
    }

    // MARK: Time

    /// When something that was held back may pass, or a probe goes on.
    public var deadline: Instant? { mutating get { heldUntil } }
}
