package import PCastCore

/// The sender-side bandwidth estimation of a path, after Google Congestion Control as in libwebrtc
/// (draft-ietf-rmcat-gcc-02; Carlucci et al., 2017).
///
/// It receives every sent packet, including retransmissions and padding, and all feedback. If the peer sends
/// transport-wide feedback, delay, loss and probes are measured; otherwise only loss and REMB are known.
///
/// Methods that are called for each frame or report are `mutating` even if they change nothing, because a nonmutating
/// call would copy more than a kilobyte.
public struct BandwidthEstimator: Sendable {
    /// The range of all estimates.
    package static let range = Bitrate.kilobits(40)...Bitrate.kilobits(50_000)

    /// The size of IPv4 and UDP headers in bytes, which are added to each datagram.
    @inlinable @inline(__always)
    public static var datagramOverhead: Int { 28 }

    /// The bit rate up to which the path is probed even if less is wanted, so that a small stream can grow at once.
    private static let alwaysKnown = Bitrate.kilobits(2_500)

    /// The duration without feedback after which delay measurements restart, as in libwebrtc.
    private static let silence = TimeSpan.seconds(Int64(2))
    /// The maximum number of packets that the feedback in one datagram may cover, which is twice the history.
    static let maximumReported = 2 * SentPacketHistory.maximumCapacity
    /// The upper bound of measured round-trip times.
    private static let longestRoundTrip = TimeSpan.seconds(Int64(5))
    /// The time after a decrease in which no probe is sent.
    private static let probeDelayAfterDecrease = TimeSpan.seconds(Int64(2))
    /// The queuing delay above which no probe is sent.
    private static let maximumProbeQueue = TimeSpan.milliseconds(40)
    /// The queuing delay above which the path is congested.
    private static let congestedQueue = TimeSpan.milliseconds(80)

    // The next properties are accessed for each packet; see `prefetch`.

    private let reportsArrivals: Bool
    private let canProbe: Bool
    /// Whether the path has limited the target since it last reached the wanted bit rate.
    private var wasLowered = false
    /// The target in kilobits per second.
    private var target: Double
    /// The bit rate that the application sends if the estimate does not limit it. The path is not probed for more than
    /// twice this rate, or 2.5 Mbit/s.
    package var wanted: Bitrate
    private var history = SentPacketHistory()
    private var application = ApplicationLimit()
    private var probes = ProbeController()

    // The next properties are accessed for reports.

    private var referenceTimes = ReferenceTimeUnwrapper()
    private var groups = ArrivalGroups()
    private var trend = Trendline()
    private var detector = OveruseDetector()
    private var acknowledged = AcknowledgedBitrate()
    private var rate: RateController
    private var loss = LossControl()
    private var queue = QueueDelay()
    private var crossTraffic = CrossTrafficDetector()
    private var measurement = ProbeMeasurement()
    /// The limit that the peer requested (REMB); nil for none.
    private var receiverLimit: Bitrate?
    /// The time from which packets are sent at a higher rate, so that a change of the arriving bit rate is expected.
    private var expectsChangeFrom: Instant?
    /// The end of the last application limit that was processed.
    private var limitEnded: Instant?
    private var lastReport: Instant?
    /// The number of packets that the feedback in the present datagram may still cover.
    private var remainingReports = 0
    /// The time at which packets were first sent on the present path; nil for the first path.
    private var pathSince: Instant?
    /// The round-trip time from transport-wide feedback, smoothed.
    private var measuredRoundTrip: TimeSpan?
    /// The round-trip time from sender reports, which has priority.
    private var reportedRoundTrip: TimeSpan?
    /// The time until which a queue is drained after a large decrease; nil if none is.
    private var drainsUntil: Instant?
    /// The lowest bit rate that arrived while that queue existed, in kilobits per second, i.e. the capacity of the
    /// path.
    private var fullRate: Double?

    /// The time until which a growing delay is expected, because a probe has succeeded and more is sent.
    private var risenUntil: Instant?
    /// The time at which the acknowledged bit rate was last expected to change because of the delay.
    private var lastRateChange: Instant?
    /// The time after a successful probe in which a growing delay is expected.
    private static let riseTime = TimeSpan.milliseconds(400)
    /// The queuing delay up to which it is expected.
    private static let riseQueue = TimeSpan.milliseconds(80)

    /// The maximum time of draining after a large decrease.
    private static let drainTime = TimeSpan.seconds(Int64(3))
    /// The factor of a large decrease.
    private static let fall = 0.7

    /// Creates an estimator.
    ///
    /// - Parameters:
    ///   - start: The initial estimate.
    ///   - wanted: The bit rate that the application sends if the estimate does not limit it.
    ///   - reportsArrivals: Whether the peer sends transport-wide feedback.
    ///   - canProbe: Whether a stream can send padding.
    package init(start: Bitrate, wanted: Bitrate, reportsArrivals: Bool, canProbe: Bool) {
        self.wanted = wanted
        self.reportsArrivals = reportsArrivals
        self.canProbe = canProbe && reportsArrivals
        rate = RateController(start, in: Self.range)
        target = rate.kilobits
    }

    /// The present estimate.
    package var estimate: BandwidthEstimate {
        mutating get {
            BandwidthEstimate(
                target: Bitrate(kilobits: target), acknowledged: acknowledged.bitrate, lossRate: loss.rate,
                roundTrip: reportedRoundTrip ?? measuredRoundTrip, queueDelay: queue.value,
                isApplicationLimited: application.isLimited,
                isLimited: isLimited, isCongested: isFull)
        }
    }

    /// Whether the path carries less than is wanted.
    private var isLimited: Bool { wasLowered && target < wanted.kilobits }

    /// Whether more was sent than the path carries, and the queue is not due to cross traffic.
    package var isCongested: Bool { mutating get { isFull } }

    private var isFull: Bool {
        isLimited && !crossTraffic.isCrossTraffic && (queue.value ?? .zero) > Self.congestedQueue
    }

    /// The congestion state for the pacer.
    package var congestionState: Pacer.CongestionState {
        mutating get { isFull ? .congested : isLimited ? .limited : .none }
    }

    /// The bit rate that passes the path: the target, or the arriving bit rate if that is higher.
    package var deliverableBitrate: Bitrate {
        mutating get { max(targetBitrate, acknowledged.bitrate ?? targetBitrate) }
    }

    /// The bit rate that may be sent, all tracks together.
    package var targetBitrate: Bitrate { Bitrate(kilobits: target) }

    // MARK: Sent packets

    /// Records a sent packet.
    ///
    /// - Parameters:
    ///   - number: The transport-wide sequence number; nil if the packet has none.
    ///   - size: The size of the datagram in bytes.
    ///   - cluster: The ID of the probe that the packet belongs to; 0 for none.
    ///   - now: The current time.
    @inline(__always)
    package mutating func sent(_ number: UInt16?, size: Int, cluster: UInt16 = 0, at now: Instant) {
        note(number, size: size, cluster: cluster, at: now)
        finishRun(bytes: size + Self.datagramOverhead, at: now)
    }

    /// Records a packet of several that are sent together. ``finishRun(bytes:at:)`` must be called after the last one;
    /// the parameters are those of ``sent(_:size:cluster:at:)``.
    @inline(__always)
    package mutating func note(_ number: UInt16?, size: Int, cluster: UInt16 = 0, at now: Instant) {
        guard reportsArrivals else { return }
        let size = size + Self.datagramOverhead
        if let number {
            history.sent(number, size: size, cluster: cluster, at: now)
        } else {
            history.sentUnnumbered(size: size)
        }
    }

    /// The memory that recording a packet accesses, for prefetching.
    package var ownMemory: AddressRange {
        @inline(__always)
        mutating get { AddressRange(from: &target, through: &probes) }
    }

    /// The memory of the history entries after the next packet's, for prefetching; nil before the first packet.
    package var nextRecord: AddressRange? { mutating get { history.nextRecord } }

    /// The memory of the history entries, for prefetching; nil before the first packet.
    package var records: AddressRange? { mutating get { history.records } }

    /// The memory of the history entries that the next report probably concerns, for prefetching; nil before the first
    /// packet.
    package var reportedRecords: AddressRange? { mutating get { history.reportedRecords } }

    /// Records the total size of packets that were recorded by ``note(_:size:cluster:at:)``. `bytes` includes IP and
    /// UDP headers.
    @inline(__always)
    package mutating func finishRun(bytes: Int, at now: Instant) {
        application.sent(bytes, target: target, at: now)
    }

    /// The highest bit rate to probe for, in kilobits per second.
    private var ceiling: Double {
        min(
            max(ProbeController.headroom * wanted.kilobits, Self.alwaysKnown.kilobits),
            Self.range.upperBound.kilobits)
    }

    /// Returns the next probe to send; nil if none is due.
    package mutating func pollProbe() -> ProbeCluster? { canProbe ? probes.poll() : nil }

    // MARK: Feedback

    /// Processes transport-wide feedback.
    ///
    /// - Parameters:
    ///   - feedback: The message.
    ///   - datagram: The bytes of the datagram.
    ///   - waited: The time from the arrival of the datagram to `now`.
    ///   - now: The current time.
    package mutating func receive(
        _ feedback: TransportFeedback, in datagram: Span<UInt8>, waited: TimeSpan = .zero, at now: Instant
    ) {
        guard reportsArrivals else { return }
        // All messages of a datagram have the same time. The limit is needed because each of about 24 messages may
        // cover 65,535 packets.
        if lastReport != now { remainingReports = Self.maximumReported }
        guard feedback.packetCount <= remainingReports else { return }
        remainingReports -= feedback.packetCount
        if let lastReport, now - lastReport > Self.silence { restartComparison() }
        lastReport = now
        var summary = FeedbackSummary(arrivedAt: now - waited)
        let reference = referenceTimes.unwrap(feedback.referenceTime)
        var run: Run?
        var reader = TransportFeedback.Reader(feedback)
        while let status = reader.next(in: datagram) {
            let report = history.report(status.sequenceNumber, arrived: status.arrival != nil)
            if let pathSince, let sentAt = report?.packet.sentAt, sentAt < pathSince { continue }
            switch report {
            case .arrived(let packet):
                let arrival = reference + (status.arrival ?? .zero)
                if run?.join(packet, arrival: arrival) == true { continue }
                if let run { take(run, &summary, at: now) }
                run = Run(packet, arrival: arrival)
            case .arrivedAfterAll(let packet):
                if let earlier = run { take(earlier, &summary, at: now) }
                run = nil
                take(Run(packet, arrival: reference + (status.arrival ?? .zero)), &summary, at: now)
                summary.lost -= 1
                summary.expected -= 1
            case .lost:
                summary.lost += 1
                summary.expected += 1
            case nil: continue
            }
        }
        if let run { take(run, &summary, at: now) }
        guard summary.expected != 0 || summary.lost != 0 else { return }
        finish(summary, at: now)
    }

    /// The results of one feedback message.
    private struct FeedbackSummary {
        /// The time at which the message arrived.
        let arrivedAt: Instant
        var lost = 0
        var expected = 0
        var lastArrival: TimeSpan?
        /// The minimum round-trip time, without the delay of the feedback.
        var roundTrip: TimeSpan?
        /// The bit rate that a probe measured, in kilobits per second; nil if none did.
        var probed: Double?
        /// The minimum queuing delay of the packets.
        var minimumQueue: TimeSpan?
    }

    /// Packets that were sent and arrived at the same time, as most packets of a frame do. They are measured together.
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

        /// Adds a packet if it was sent and arrived at the same time. Returns false otherwise, and for packets of
        /// probes, which are measured one by one.
        mutating func join(_ other: SentPacketHistory.Packet, arrival: TimeSpan) -> Bool {
            guard arrival == self.arrival, other.sentAt == packet.sentAt, other.cluster == 0, packet.cluster == 0 else {
                return false
            }
            size += other.size + other.unnumberedSize
            count += 1
            return true
        }
    }

    /// Measures packets that arrived together.
    private mutating func take(_ run: Run, _ summary: inout FeedbackSummary, at now: Instant) {
        let (packet, arrival) = (run.packet, run.arrival)
        summary.expected += run.count
        if let from = expectsChangeFrom, packet.sentAt > from {
            acknowledged.expectChange()
            expectsChangeFrom = nil
        }
        acknowledged.arrived(size: run.size, at: arrival)
        queue.arrived(sentAt: packet.sentAt, arrival: arrival, count: run.count)
        summary.minimumQueue = min(summary.minimumQueue ?? queue.latest, queue.latest)
        if packet.cluster != 0, let probed = measurement.arrived(packet, arrival: arrival) { summary.probed = probed }
        if let delta = groups.arrived(sentAt: packet.sentAt, arrival: arrival) {
            trend.add(delta, arrival: arrival)
            detector.update(slope: trend.slope, of: trend.count, sendDelta: delta.send, arrival: arrival)
        }
        let waited = max((summary.lastArrival ?? arrival) - arrival, .zero)
        summary.lastArrival = max(summary.lastArrival ?? arrival, arrival)
        let roundTrip = min(max(summary.arrivedAt - packet.sentAt - waited, .zero), Self.longestRoundTrip)
        summary.roundTrip = min(summary.roundTrip ?? roundTrip, roundTrip)
    }

    /// Updates the estimate after a feedback message.
    private mutating func finish(_ summary: FeedbackSummary, at now: Instant) {
        if let sample = summary.roundTrip {
            measuredRoundTrip = measuredRoundTrip.map { $0 + (sample - $0) / 8 } ?? sample
            if reportedRoundTrip == nil { rate.roundTrip = measuredRoundTrip! }
        }
        application.sent(0, target: target, at: now)
        if application.endedAt != limitEnded {
            limitEnded = application.endedAt
            expectsChangeFrom = limitEnded
        }
        follow(summary, at: now)
        loss.reported(lost: summary.lost, expected: summary.expected)
        loss.update(
            target: rate.kilobits, acknowledged: acknowledged.bitrate?.kilobits, queueDelay: queue.value ?? .zero,
            roundTrip: rate.roundTrip, at: now)
        updateTarget(at: now)
        updateProbes(at: now)
    }

    /// Updates the rate from the delay, or from a probe.
    private mutating func follow(_ summary: FeedbackSummary, at now: Instant) {
        let before = rate.kilobits
        let arriving = acknowledged.bitrate?.kilobits
        if let delay = summary.minimumQueue {
            crossTraffic.update(delay: delay, rate: before, loss: loss.rate - loss.inherent, at: now)
        }
        // A probe also raises a limit by loss. Otherwise only audio would be sent for half a minute after heavy loss.
        if detector.usage != .overusing, let probed = summary.probed,
            probed > min(rate.kilobits, loss.limit ?? .infinity)
        {
            if probed > rate.kilobits { rate.probed(probed, at: now) }
            loss.probed(probed)
            risenUntil = now + (measuredRoundTrip ?? .zero) + Self.riseTime
        } else if crossTraffic.isCrossTraffic {
            let typical = loss.inherent * Double(summary.expected)
            rate.compete(
                isLosing: Double(summary.lost) > typical + 3 * typical.squareRoot(), fairRate: crossTraffic.fairRate,
                acknowledged: arriving, at: now)
        } else if detector.usage != .overusing || !isExpectedQueue(at: now) {
            // If there is a queue, the arriving bit rate is the capacity of the path, even if the application is
            // limited.
            let isFull = (queue.value ?? .zero) > Self.maximumProbeQueue
            rate.update(
                detector.usage, acknowledged: detector.usage == .overusing ? acknowledged.fastest?.kilobits : arriving,
                isApplicationLimited: !isFull && wasLimited(at: now), at: now)
        }
        if let arriving, !crossTraffic.isCrossTraffic, (queue.value ?? .zero) > Self.congestedQueue {
            rate.filled(at: arriving, at: now)
        }
        guard rate.kilobits < before else { return }
        wasLowered = true
        if rate.kilobits < Self.fall * before {
            drainsUntil = now + Self.drainTime
            fullRate = nil
        }
    }

    /// Returns whether a growing delay is expected and needs no decrease. It is caused by larger frames after a
    /// successful probe, or by a queue that is already being drained.
    private mutating func isExpectedQueue(at now: Instant) -> Bool {
        let delay = queue.value ?? .zero
        if let risenUntil, now < risenUntil, delay < Self.riseQueue { return true }
        if detector.usage == .overusing, delay > Self.riseQueue,
            lastRateChange.map({ now - $0 > Self.riseTime }) ?? true
        {
            // The path has changed, which the slow filter of the arriving bit rate does not show yet.
            lastRateChange = now
            acknowledged.expectChange()
        }
        guard drainsUntil != nil, let arriving = acknowledged.bitrate else { return false }
        return arriving.kilobits > target
    }

    /// Returns whether the arriving bit rate was limited by the application within the last 400 ms.
    private func wasLimited(at now: Instant) -> Bool {
        application.isLimited || application.endedAt.map { now - $0 < Self.riseTime } ?? false
    }

    /// Restarts delay measurements after a time without feedback. Packets that were queued on the path have left it.
    private mutating func restartComparison() {
        queue.resetQueueDelay()
        groups = ArrivalGroups()
        trend = Trendline()
        detector = OveruseDetector()
    }

    /// Computes the target from the limits by delay, loss and REMB.
    private mutating func updateTarget(at now: Instant) {
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

    /// Returns the share of the target that is sent to drain a queue. After a large decrease it is low for up to 3 s; a
    /// queue that remains longer is due to cross traffic.
    private mutating func drainShare(at now: Instant) -> Double {
        guard let delay = queue.value else { return 1 }
        let excess = delay - Self.maximumProbeQueue
        guard let until = drainsUntil else { return queueShare(excess) }
        guard until > now, excess > .zero else {
            drainsUntil = nil
            if excess <= .zero, let fullRate {
                rate.drained(full: fullRate, at: now)
                loss.probed(RateController.beta * fullRate)
            }
            return queueShare(excess)
        }
        if let arriving = acknowledged.bitrate?.kilobits { fullRate = min(fullRate ?? arriving, arriving) }
        return max(1 - excess.seconds / 0.4, 0.5)
    }

    /// Returns the share of the target that is sent to drain a queue of constant length. The trend of the delay does
    /// not detect such a queue, so slightly less than the capacity is sent.
    private func queueShare(_ excess: TimeSpan) -> Double {
        guard isLimited, excess > .zero, !crossTraffic.isCrossTraffic else { return 1 }
        return max(1 - excess.seconds / 0.3, Self.minimumQueueShare)
    }

    /// The minimum share of the target while a queue of constant length is drained.
    private static let minimumQueueShare = 0.7

    /// Updates the probe controller after feedback.
    private mutating func updateProbes(at now: Instant) {
        guard canProbe else { return }
        // Probing begins with the first feedback, because a peer that sends none cannot be measured.
        guard probes.hasBegun else {
            probes.begin(estimate: target, ceiling: ceiling, at: now)
            return
        }
        let isStable = rate.lastDecreaseTime.map { now - $0 > Self.probeDelayAfterDecrease } ?? true
        probes.update(
            estimate: target, wanted: wanted.kilobits, ceiling: ceiling, isLimited: application.isLimited,
            mayRise: detector.usage == .normal && isStable && (queue.value ?? .zero) < Self.maximumProbeQueue, at: now)
    }

    /// Processes the loss in a receiver report. It is used only if the peer does not send transport-wide feedback.
    package mutating func receive(lost: Int, expected: Int, at now: Instant) {
        guard !reportsArrivals, expected > 0 else { return }
        loss.reported(lost: lost, expected: expected)
        loss.update(
            target: target, acknowledged: nil, queueDelay: nil,
            roundTrip: reportedRoundTrip ?? rate.roundTrip, at: now)
        updateTarget(at: now)
    }

    /// Processes the limit of a REMB message. It is used only if the peer does not send transport-wide feedback.
    package mutating func receive(receiverLimit: Bitrate, at now: Instant) {
        guard !reportsArrivals else { return }
        self.receiverLimit = receiverLimit
        updateTarget(at: now)
    }

    /// Sets the round-trip time that sender reports measure.
    package mutating func measured(roundTrip: TimeSpan) {
        reportedRoundTrip = roundTrip
        rate.roundTrip = roundTrip
    }

    /// Resets the measurements because packets are sent on another path. The target stays until the new path is
    /// measured and probed.
    package mutating func pathChanged(at now: Instant) {
        pathSince = now
        restartComparison()
        rate = RateController(targetBitrate, in: Self.range)
        acknowledged = AcknowledgedBitrate()
        loss = LossControl()
        queue = QueueDelay()
        crossTraffic = CrossTrafficDetector()
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

    /// The time at which ``advance(to:)`` must be called for a probe without feedback; nil if none is scheduled.
    package var deadline: Instant? {
        mutating get { canProbe ? probes.deadline(isLimited: application.isLimited) : nil }
    }

    /// Schedules a probe if it is due without feedback.
    package mutating func advance(to now: Instant) {
        guard let deadline, now >= deadline else { return }
        // If nothing is sent because the path was congested, there is no feedback. The old measurements would then
        // prevent probes forever.
        if let lastReport, now - lastReport > Self.silence { restartComparison() }
        application.sent(0, target: target, at: now)
        updateProbes(at: now)
    }
}
