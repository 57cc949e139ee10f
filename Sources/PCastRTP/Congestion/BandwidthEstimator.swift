public import PCastMedia

/// What a path to a peer carries, as the sender finds out: after Google's congestion control as libwebrtc has it
/// (draft-ietf-rmcat-gcc-02; Carlucci et al. 2017).
///
/// It is told every packet that leaves, media, sound, retransmissions and padding alike, and every report that comes
/// back. A peer that reports arrivals (transport-wide feedback) is measured by delay, loss and probes; of others only
/// loss and REMB are known.
///
/// What is asked for each picture or report is `mutating` though it changes nothing: Swift asks a copy otherwise, of more
/// than a kilobyte.
public struct BandwidthEstimator: Sendable {
    /// No estimate leaves this range.
    public static let range = Bitrate.kilobits(40)...Bitrate.kilobits(50_000)

    /// Bytes that a datagram has on the wire beside its own: IPv4 and UDP (CC10).
    public static let datagramOverhead = 28

    /// A path is known up to this, whatever is wanted of it at the moment: a stream that was small for a while finds
    /// its room when it grows.
    private static let alwaysKnown = Bitrate.kilobits(2_500)

    /// Arrivals are compared anew after a silence of this length, as libwebrtc does.
    private static let silence = TimeSpan.seconds(Int64(2))
    /// Of so many packets one datagram tells at most, which is twice what is remembered: others are of no use.
    static let mostReported = 2 * SentPacketHistory.maximumCapacity
    private static let longestRoundTrip = TimeSpan.seconds(Int64(5))
    /// Probes wait for this long after the rate went down, and while a queue stands.
    private static let calm = TimeSpan.seconds(Int64(2))
    private static let calmQueue = TimeSpan.milliseconds(40)
    private static let congestedQueue = TimeSpan.milliseconds(80)

    // What each packet asks for, together; see `bringNear`.

    private let reportsArrivals: Bool
    private let canProbe: Bool
    private var wasLowered = false
    /// Kilobits a second.
    private var target: Double
    /// What the application would send if it could: there is no need to know of more than twice as much.
    public var wanted: Bitrate
    private var history = SentPacketHistory()
    private var application = ApplicationLimit()
    private var probes = ProbeController()

    // What reports ask for as well.

    private var referenceTimes = ReferenceTimeUnwrapper()
    private var groups = ArrivalGroups()
    private var trend = Trendline()
    private var detector = OveruseDetector()
    private var acknowledged = AcknowledgedBitrate()
    private var rate: RateController
    private var loss = LossControl()
    private var queue = QueueDelay()
    private var foreign = ForeignQueue()
    private var measurement = ProbeMeasurement()
    private var receiverLimit: Bitrate?
    private var expectsChangeFrom: Instant?
    private var limitEnded: Instant?
    private var lastReport: Instant?
    /// How many packets what comes in one datagram may still tell of.
    private var unread = 0
    /// When packets began to go the way they go now.
    private var pathSince: Instant?
    private var measuredRoundTrip: TimeSpan?
    private var reportedRoundTrip: TimeSpan?
    /// A path that gives much less than before has a queue to be emptied until then.
    private var drainsUntil: Instant?
    /// What passed while that queue stood, in kilobits a second: all that the path carries.
    private var fullRate: Double?

    /// A probe succeeded, and more is sent since.
    private var risenUntil: Instant?
    private var lastHurry: Instant?
    private static let riseTime = TimeSpan.milliseconds(400)
    private static let riseQueue = TimeSpan.milliseconds(80)

    private static let drainTime = TimeSpan.seconds(Int64(3))
    private static let fall = 0.7

    /// - Parameters:
    ///   - start: the estimate before anything is known.
    ///   - reportsArrivals: transport-wide feedback was agreed on.
    ///   - canProbe: there is a stream for padding.
    public init(start: Bitrate, wanted: Bitrate, reportsArrivals: Bool, canProbe: Bool) {
        self.wanted = wanted
        self.reportsArrivals = reportsArrivals
        self.canProbe = canProbe && reportsArrivals
        rate = RateController(start, in: Self.range)
        target = rate.kilobits
    }

    /// What is known at the moment.
    public var estimate: BandwidthEstimate {
        mutating get {
            BandwidthEstimate(
                target: Bitrate(kilobits: target), acknowledged: acknowledged.bitrate, lossRate: loss.rate,
                roundTrip: reportedRoundTrip ?? measuredRoundTrip, queueDelay: queue.value,
                isApplicationLimited: application.isLimited,
                isLimited: isLimited, isCongested: isFull)
        }
    }

    private var isLimited: Bool { wasLowered && target < wanted.kilobits }

    /// Whether what was sent stands on the path: more than it carries, and nobody else's.
    public var isCongested: Bool { mutating get { isFull } }

    private var isFull: Bool { isLimited && !foreign.isForeign && (queue.value ?? .zero) > Self.congestedQueue }

    /// How a pacer is to go about it.
    public var pressure: Pacer.Pressure { mutating get { isFull ? .congested : isLimited ? .limited : .none } }

    /// What is seen to pass, or may.
    public var passingBitrate: Bitrate {
        mutating get { max(targetBitrate, acknowledged.bitrate ?? targetBitrate) }
    }

    /// What may be sent.
    public var targetBitrate: Bitrate { Bitrate(kilobits: target) }

    // MARK: What leaves

    /// A packet leaves.
    ///
    /// - Parameters:
    ///   - number: its transport-wide number, if it bears one.
    ///   - size: bytes of the datagram.
    ///   - cluster: the probe that it belongs to, or 0.
    @inline(__always)
    public mutating func sent(_ number: UInt16?, size: Int, cluster: UInt16 = 0, at now: Instant) {
        note(number, size: size, cluster: cluster, at: now)
        finishRun(bytes: size + Self.datagramOverhead, at: now)
    }

    /// A packet of a run leaves, which is counted with the others in `finishRun`.
    ///
    /// - Parameters: see `sent`.
    @inline(__always)
    public mutating func note(_ number: UInt16?, size: Int, cluster: UInt16 = 0, at now: Instant) {
        guard reportsArrivals else { return }
        let size = size + Self.datagramOverhead
        if let number {
            history.sent(number, size: size, cluster: cluster, at: now)
        } else {
            history.sentUnnumbered(size: size)
        }
    }

    /// Where what is asked for with each packet lies.
    @inline(__always)
    public mutating func bringNear(by bring: (_ start: UnsafeRawPointer, _ count: Int) -> Void) {
        Self.span(&target, &probes, bring)
    }

    @inline(__always)
    private static func span(
        _ first: UnsafeRawPointer, _ last: UnsafePointer<ProbeController>,
        _ bring: (_ start: UnsafeRawPointer, _ count: Int) -> Void
    ) { bring(first, UnsafeRawPointer(last + 1) - first) }

    /// Where the next packet is noted; nil before the first.
    public var nextRecord: UnsafeRawPointer? { mutating get { history.nextRecord } }

    /// The first of the array that they are noted in; nil before the first packet.
    public var records: UnsafeRawPointer? { mutating get { history.records } }

    /// Where the next report is looked up, as far as can be known: at most so many bytes.
    @inline(__always)
    public mutating func bringReportedNear(
        _ count: Int, by bring: (_ start: UnsafeRawPointer, _ count: Int) -> Void
    ) { history.bringReportedNear(count, by: bring) }

    /// The packets of a run left.
    ///
    /// - Parameter bytes: all of theirs, on the wire.
    @inline(__always)
    public mutating func finishRun(bytes: Int, at now: Instant) {
        application.sent(bytes, target: target, at: now)
    }

    private var ceiling: Double {
        min(
            max(ProbeController.headroom * wanted.kilobits, Self.alwaysKnown.kilobits),
            Self.range.upperBound.kilobits)
    }

    /// A probe that is to be sent now; nil when none is due.
    public mutating func pollProbe() -> ProbeCluster? { canProbe ? probes.poll() : nil }

    // MARK: What comes back

    /// The peer's time for packets, from the datagram that the message was read from.
    ///
    /// - Parameter waited: how long before `now` it came.
    public mutating func receive(
        _ feedback: TransportFeedback, in datagram: Span<UInt8>, waited: TimeSpan = .zero, at now: Instant
    ) {
        guard reportsArrivals else { return }
        // A datagram's messages have one time. Two dozen of them may each tell of 65,535 packets (CC3).
        if lastReport != now { unread = Self.mostReported }
        guard feedback.packetCount <= unread else { return }
        unread -= feedback.packetCount
        if let lastReport, now - lastReport > Self.silence { compareAnew() }
        lastReport = now
        var tally = Tally(cameAt: now - waited)
        let reference = referenceTimes.unwrap(feedback.referenceTime)
        var run: Run?
        var reader = TransportFeedback.Reader(feedback)
        while let status = reader.next(in: datagram) {
            let news = history.report(status.sequenceNumber, arrived: status.arrival != nil)
            if let pathSince, let sentAt = news?.packet.sentAt, sentAt < pathSince { continue }
            switch news {
            case .arrived(let packet):
                let arrival = reference + (status.arrival ?? .zero)
                if run?.join(packet, arrival: arrival) == true { continue }
                if let run { take(run, &tally, at: now) }
                run = Run(packet, arrival: arrival)
            case .arrivedAfterAll(let packet):
                if let earlier = run { take(earlier, &tally, at: now) }
                run = nil
                take(Run(packet, arrival: reference + (status.arrival ?? .zero)), &tally, at: now)
                tally.lost -= 1
                tally.expected -= 1
            case .lost:
                tally.lost += 1
                tally.expected += 1
            case nil: continue
            }
        }
        if let run { take(run, &tally, at: now) }
        guard tally.expected != 0 || tally.lost != 0 else { return }
        finish(tally, at: now)
    }

    /// What one report told.
    private struct Tally {
        /// When the report came.
        let cameAt: Instant
        var lost = 0
        var expected = 0
        var lastArrival: TimeSpan?
        /// Time on the way there and back, without the wait for the report.
        var roundTrip: TimeSpan?
        var probed: Double?
        var leastQueue: TimeSpan?
    }

    /// Packets that left at once and arrived at once, as far as is told, and so say the same: those of a picture mostly.
    private struct Run {
        let packet: SentPacketHistory.Packet
        let arrival: TimeSpan
        var size: Int
        var count = 1

        init(_ packet: SentPacketHistory.Packet, arrival: TimeSpan) {
            self.packet = packet
            self.arrival = arrival
            size = packet.size + packet.unnumberedSize
        }

        /// Answers whether it is one of them; those of a probe are looked at one by one.
        mutating func join(_ other: SentPacketHistory.Packet, arrival: TimeSpan) -> Bool {
            guard arrival == self.arrival, other.sentAt == packet.sentAt, other.cluster == 0, packet.cluster == 0 else {
                return false
            }
            size += other.size + other.unnumberedSize
            count += 1
            return true
        }
    }

    private mutating func take(_ run: Run, _ tally: inout Tally, at now: Instant) {
        let (packet, arrival) = (run.packet, run.arrival)
        tally.expected += run.count
        if let from = expectsChangeFrom, packet.sentAt > from {
            acknowledged.expectChange()
            expectsChangeFrom = nil
        }
        acknowledged.arrived(size: run.size, at: arrival)
        queue.arrived(sentAt: packet.sentAt, arrival: arrival, count: run.count)
        tally.leastQueue = min(tally.leastQueue ?? queue.latest, queue.latest)
        if packet.cluster != 0, let probed = measurement.arrived(packet, arrival: arrival) { tally.probed = probed }
        if let delta = groups.arrived(sentAt: packet.sentAt, arrival: arrival) {
            trend.add(delta, arrival: arrival)
            detector.update(slope: trend.slope, of: trend.count, sendDelta: delta.send, arrival: arrival)
        }
        let waited = max((tally.lastArrival ?? arrival) - arrival, .zero)
        tally.lastArrival = max(tally.lastArrival ?? arrival, arrival)
        let roundTrip = min(max(tally.cameAt - packet.sentAt - waited, .zero), Self.longestRoundTrip)
        tally.roundTrip = min(tally.roundTrip ?? roundTrip, roundTrip)
    }

    private mutating func finish(_ tally: Tally, at now: Instant) {
        if let sample = tally.roundTrip {
            measuredRoundTrip = measuredRoundTrip.map { $0 + (sample - $0) / 8 } ?? sample
            if reportedRoundTrip == nil { rate.roundTrip = measuredRoundTrip! }
        }
        application.sent(0, target: target, at: now)
        if application.endedAt != limitEnded {
            limitEnded = application.endedAt
            expectsChangeFrom = limitEnded
        }
        follow(tally, at: now)
        loss.reported(lost: tally.lost, expected: tally.expected)
        loss.update(
            target: rate.kilobits, acknowledged: acknowledged.bitrate?.kilobits, queueDelay: queue.value ?? .zero,
            roundTrip: rate.roundTrip, at: now)
        settle(at: now)
        updateProbes(at: now)
    }

    /// The rate that the delay allows, or a probe has found.
    private mutating func follow(_ tally: Tally, at now: Instant) {
        let before = rate.kilobits
        let arriving = acknowledged.bitrate?.kilobits
        if let delay = tally.leastQueue {
            foreign.update(delay: delay, rate: before, loss: loss.rate - loss.inherent, at: now)
        }
        // What loss once forbade is found again by a probe too, or sound alone would be all for half a minute (CC9).
        if detector.usage != .overusing, let probed = tally.probed,
            probed > min(rate.kilobits, loss.limit ?? .infinity)
        {
            if probed > rate.kilobits { rate.probed(probed, at: now) }
            loss.probed(probed)
            risenUntil = now + (measuredRoundTrip ?? .zero) + Self.riseTime
        } else if foreign.isForeign {
            let usual = loss.inherent * Double(tally.expected)
            rate.compete(
                isLosing: Double(tally.lost) > usual + 3 * usual.squareRoot(), fairRate: foreign.fairRate,
                acknowledged: arriving, at: now)
        } else if detector.usage != .overusing || !isExpectedQueue(at: now) {
            // Where a queue stands, what arrives is all that the path carries, however little was asked of it.
            let isFull = (queue.value ?? .zero) > Self.calmQueue
            rate.update(
                detector.usage, acknowledged: detector.usage == .overusing ? acknowledged.fastest?.kilobits : arriving,
                isApplicationLimited: !isFull && wasLimited(at: now), at: now)
        }
        if let arriving, !foreign.isForeign, (queue.value ?? .zero) > Self.congestedQueue {
            rate.filled(at: arriving, at: now)
        }
        guard rate.kilobits < before else { return }
        wasLowered = true
        if rate.kilobits < Self.fall * before {
            drainsUntil = now + Self.drainTime
            fullRate = nil
        }
    }

    /// A growing delay that calls for nothing: of the larger frames that follow a probe's success, before what arrives
    /// of them is measured; and of a queue that is being emptied already.
    private mutating func isExpectedQueue(at now: Instant) -> Bool {
        let delay = queue.value ?? .zero
        if let risenUntil, now < risenUntil, delay < Self.riseQueue { return true }
        if detector.usage == .overusing, delay > Self.riseQueue, lastHurry.map({ now - $0 > Self.riseTime }) ?? true {
            // The path has changed, and a slow mean of what arrived does not tell.
            lastHurry = now
            acknowledged.expectChange()
        }
        guard drainsUntil != nil, let arriving = acknowledged.bitrate else { return false }
        return arriving.kilobits > target
    }

    /// What arrives is no measure of the path, or was none a moment ago.
    private func wasLimited(at now: Instant) -> Bool {
        application.isLimited || application.endedAt.map { now - $0 < Self.riseTime } ?? false
    }

    /// After a silence: what was measured is of before it, and what stood on the path has gone.
    private mutating func compareAnew() {
        queue.forgetStanding()
        groups = ArrivalGroups()
        trend = Trendline()
        detector = OveruseDetector()
    }

    private mutating func settle(at now: Instant) {
        let share = drainShare(at: now)
        var kilobits = reportsArrivals ? rate.kilobits : max(wanted.kilobits, rate.kilobits)
        if let limit = loss.limit, limit < kilobits {
            kilobits = limit
            wasLowered = true
        }
        if let receiverLimit, receiverLimit.kilobits < kilobits {
            kilobits = receiverLimit.kilobits
            wasLowered = true
        }
        kilobits *= share
        target = max(kilobits, Self.range.lowerBound.kilobits)
        if target >= wanted.kilobits { wasLowered = false }
    }

    /// After a fall, less than arrives is sent until the queue is gone; not for longer, for a queue that stays is
    /// someone else's.
    private mutating func drainShare(at now: Instant) -> Double {
        guard let delay = queue.value else { return 1 }
        let excess = delay - Self.calmQueue
        guard let until = drainsUntil else { return standingShare(excess) }
        guard until > now, excess > .zero else {
            drainsUntil = nil
            if excess <= .zero, let fullRate {
                rate.drained(full: fullRate, at: now)
                loss.probed(RateController.beta * fullRate)
            }
            return standingShare(excess)
        }
        if let arriving = acknowledged.bitrate?.kilobits { fullRate = min(fullRate ?? arriving, arriving) }
        return max(1 - excess.seconds / 0.4, 0.5)
    }

    /// A queue that stands does not grow, and no trend tells of it: a little less than passes lets it go (CC5).
    private func standingShare(_ excess: TimeSpan) -> Double {
        guard isLimited, excess > .zero, !foreign.isForeign else { return 1 }
        return max(1 - excess.seconds / 0.3, Self.leastStandingShare)
    }

    private static let leastStandingShare = 0.7

    private mutating func updateProbes(at now: Instant) {
        guard canProbe else { return }
        // With the first report: one who sends none is not asked.
        guard probes.hasBegun else {
            probes.begin(estimate: target, ceiling: ceiling, at: now)
            return
        }
        let isCalm = rate.lastDecreaseTime.map { now - $0 > Self.calm } ?? true
        probes.update(
            estimate: target, wanted: wanted.kilobits, ceiling: ceiling, isLimited: application.isLimited,
            mayRise: detector.usage == .normal && isCalm && (queue.value ?? .zero) < Self.calmQueue, at: now)
    }

    /// What the peer counted of one of our streams since its last report; of peers that do not report arrivals, that
    /// is how loss is known.
    public mutating func receive(lost: Int, expected: Int, at now: Instant) {
        guard !reportsArrivals, expected > 0 else { return }
        loss.reported(lost: lost, expected: expected)
        loss.update(
            target: target, acknowledged: nil, queueDelay: nil,
            roundTrip: reportedRoundTrip ?? rate.roundTrip, at: now)
        settle(at: now)
    }

    /// The peer's own estimate (REMB); nothing is known better by those who report arrivals.
    public mutating func receive(receiverLimit: Bitrate, at now: Instant) {
        guard !reportsArrivals else { return }
        self.receiverLimit = receiverLimit
        settle(at: now)
    }

    /// The time to the peer and back, as sender reports measure it.
    public mutating func measured(roundTrip: TimeSpan) {
        reportedRoundTrip = roundTrip
        rate.roundTrip = roundTrip
    }

    /// Packets go another way from now on: what was measured is of the old one. The rate stays until the new way is
    /// measured and probed.
    public mutating func pathChanged(at now: Instant) {
        pathSince = now
        compareAnew()
        rate = RateController(targetBitrate, in: Self.range)
        acknowledged = AcknowledgedBitrate()
        loss = LossControl()
        queue = QueueDelay()
        foreign = ForeignQueue()
        probes = ProbeController()
        measurement = ProbeMeasurement()
        measuredRoundTrip = nil
        reportedRoundTrip = nil
        drainsUntil = nil
        risenUntil = nil
        receiverLimit = nil
        wasLowered = false
    }

    // MARK: Time

    /// When `advance` wants to be called: for a probe that no report brings about.
    public var deadline: Instant? {
        mutating get { canProbe ? probes.deadline(isLimited: application.isLimited) : nil }
    }

    public mutating func advance(to now: Instant) {
        guard let deadline, now >= deadline else { return }
        // Who is sent nothing, as the path was full, reports nothing: what was seen last would forbid to try it for good (CC9).
        if let lastReport, now - lastReport > Self.silence { compareAnew() }
        application.sent(0, target: target, at: now)
        updateProbes(at: now)
    }
}
