import PCastCore
import PCastRTP
import PCastTestSupport

/// A sender of video and audio that follows its estimate, and a receiver that reports arrivals, on virtual time.
struct CongestionFlow {
    private struct Report {
        var bytes: [UInt8]
        var arrival: Instant
    }

    let index: Int
    /// The maximum bit rate of the encoder in bits per second. The encoder produces what it may.
    var source: Double
    /// Whether the encoder keeps its rate regardless of the estimate, as a single layer at an SFU does.
    var isRigid = false
    var hasVideo = true
    var hasAudio = true
    /// Whether the peer has a stream for padding.
    let canProbe: Bool
    /// The share of reports that do not arrive.
    var reportLoss = 0.0

    private(set) var estimator: BandwidthEstimator
    var estimate: BandwidthEstimate { mutating get { estimator.estimate } }
    private var pacer: Pacer
    private var recorder = TransportFeedbackRecorder()
    private var reports: [Report] = []
    private var number: UInt16 = 65_000
    private var waiting: [(size: Int, since: Instant)] = []
    private var nextFrame = Instant(nanoseconds: 0)
    private var nextAudio = Instant(nanoseconds: 3_000_000)
    private var generator: SeededGenerator

    /// The total number of bytes that were sent and that arrived.
    private(set) var sentBytes = 0
    private(set) var arrivedBytes = 0
    private(set) var longestWait = TimeSpan.zero
    private(set) var probes = 0

    init(
        index: Int = 0, source: Double, start: Bitrate = .kilobits(2_500), canProbe: Bool = true, seed: UInt64
    ) {
        self.index = index
        self.source = source
        self.canProbe = canProbe
        estimator = BandwidthEstimator(
            start: start, wanted: Bitrate(bitsPerSecond: Int64(source * 1.1)), reportsArrivals: true,
            canProbe: canProbe)
        pacer = Pacer(target: start)
        generator = SeededGenerator(seed: seed)
    }

    /// Starts with another estimate than the default.
    mutating func start(at start: Bitrate) {
        estimator = BandwidthEstimator(
            start: start, wanted: estimator.wanted, reportsArrivals: true, canProbe: canProbe)
        pacer = Pacer(target: start)
    }

    mutating func changePath(at now: Instant) { estimator.pathChanged(at: now) }

    var target: Double { Double(estimator.targetBitrate.bitsPerSecond) }

    mutating func advance(to now: Instant, link: inout CongestionLink) {
        while let report = reports.first, report.arrival <= now {
            reports.removeFirst()
            estimator.read(report.bytes, at: now)
            pacer.setTarget(estimator.targetBitrate)
        }
        estimator.advance(to: now)
        if !pacer.isProbing, let cluster = estimator.pollProbe() {
            pacer.begin(cluster, at: now)
            probes += 1
        }
        if now >= nextAudio {
            nextAudio += .milliseconds(20)
            if hasAudio { send(120, at: now, link: &link) }
        }
        if now >= nextFrame { makeFrame() }
        while let first = waiting.first,
            pacer.mayPass(queued: waiting.count, waited: now - first.since, at: now)
        {
            waiting.removeFirst()
            longestWait = max(longestWait, now - first.since)
            send(first.size, at: now, link: &link)
        }
        while waiting.isEmpty, pacer.isProbing, pacer.mayProbe(at: now) {
            let size = pacer.paddingSize ?? 0
            send(size > 1_000 ? 1_200 : min(size, 330) - BandwidthEstimator.datagramOverhead, at: now, link: &link)
        }
    }

    private mutating func makeFrame() {
        let now = nextFrame
        nextFrame += .microseconds(33_333)
        guard hasVideo else { return }
        let rate = isRigid ? source : min(source, max((target - 60_000) * 0.93, 30_000))
        var left = Int(rate / 30 / 8 * Double.random(in: 0.8...1.2, using: &generator))
        while left > 0 {
            waiting.append((min(left, 1_150) + 50, now))
            left -= 1_150
        }
    }

    private mutating func send(_ size: Int, at now: Instant, link: inout CongestionLink) {
        let cluster = pacer.cluster
        let wire = size + BandwidthEstimator.datagramOverhead
        pacer.sent(bytes: wire, at: now)
        estimator.sent(number, size: size, cluster: cluster, at: now)
        sentBytes += wire
        link.send(.init(flow: index, number: number, size: wire, sentAt: now))
        number &+= 1
    }

    /// Records a packet's arrival at the receiver.
    mutating func arrived(_ packet: CongestionLink.Packet, at arrival: Instant) {
        arrivedBytes += packet.size
        recorder.received(packet.number, at: arrival)
    }

    mutating func report(at now: Instant, delay: TimeSpan) {
        guard let bytes = recorder.report(at: now) else { return }
        if Double.random(in: 0..<1, using: &generator) < reportLoss { return }
        reports.append(Report(bytes: bytes, arrival: now + delay))
    }

}

/// A download like that of TCP Reno: a window that grows by a packet per round trip and is halved by loss.
struct LossBasedFlow {
    let index: Int
    private(set) var arrivedBytes = 0

    private var window = 10.0
    private var threshold = Double.infinity
    private var inFlight = 0
    private var next: UInt16 = 0
    private var expected: UInt16 = 0
    private var acknowledgements: [(at: Instant, lost: Int)] = []
    private var halvedAt = Instant(nanoseconds: -1_000_000_000)
    private var lastReceivedAt = Instant(nanoseconds: 0)

    init(index: Int) { self.index = index }

    mutating func advance(to now: Instant, link: inout CongestionLink) {
        while let first = acknowledgements.first, first.at <= now {
            acknowledgements.removeFirst()
            lastReceivedAt = now
            inFlight = max(inFlight - 1 - first.lost, 0)
            if first.lost > 0 {
                if now - halvedAt > .milliseconds(200) {
                    halvedAt = now
                    window = max(window / 2, 2)
                    threshold = window
                }
            } else {
                window += window < threshold ? 1 : 1 / window
            }
        }
        // All packets of a window were lost.
        if now - lastReceivedAt > .seconds(Int64(1)) {
            lastReceivedAt = now
            inFlight = 0
            window = 2
        }
        while inFlight < Int(window) {
            link.send(.init(flow: index, number: next, size: 1_500, sentAt: now))
            next &+= 1
            inFlight += 1
        }
    }

    mutating func arrived(_ packet: CongestionLink.Packet, at now: Instant, delay: TimeSpan) {
        arrivedBytes += packet.size
        let lost = Int(packet.number &- expected)
        expected = packet.number &+ 1
        acknowledgements.append((now + delay, lost))
    }
}
