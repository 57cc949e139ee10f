import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

/// The estimator alone, with a link on virtual time.
@Suite struct BandwidthEstimatorTests {
    private func scene(
        rate: Double, source: Double, loss: Double = 0, jitter: TimeSpan = .zero, seed: UInt64,
        change: (inout CongestionFlow) -> Void = { _ in }
    ) -> CongestionScene {
        var link = CongestionLink(rate: rate, queueLimit: .milliseconds(300), seed: seed)
        link.loss = loss
        link.jitter = jitter
        var flow = CongestionFlow(source: source, seed: seed &* 31)
        change(&flow)
        return CongestionScene(link: link, flows: [flow])
    }

    @Test("a path of 3 Mbit/s is used to 75 % or more, and its queue stays short", arguments: [1, 2, 3] as [UInt64])
    func converges(seed: UInt64) {
        var scene = scene(rate: 3e6, source: 5e6, seed: seed)
        scene.run(for: .seconds(Int64(5)))
        scene.worstQueue = .zero
        let rate = scene.rate(for: .seconds(Int64(30)))
        #expect((0.75...0.97).contains(rate / 3e6))
        #expect(scene.worstQueue < .milliseconds(150))
        #expect(scene.flows[0].estimate.isLimited)
    }

    @Test(
        "from 4 to 0.8 Mbit/s: the queue is empty after 3 s, and most of the rate is back after 12 s",
        arguments: [1, 2, 3, 4] as [UInt64])
    func fallsAndRises(seed: UInt64) {
        var scene = scene(rate: 4e6, source: 4e6, seed: seed)
        scene.run(for: .seconds(Int64(10)))
        scene.link.rate = 0.8e6
        scene.run(for: .seconds(Int64(3)))
        scene.worstQueue = .zero
        let fallen = scene.rate(for: .seconds(Int64(17)))
        #expect(scene.worstQueue < .milliseconds(150))
        #expect((0.75...1).contains(fallen / 0.8e6))
        scene.link.rate = 4e6
        scene.run(for: .seconds(Int64(12)))
        let risen = scene.rate(for: .seconds(Int64(3)))
        #expect(risen > 0.8 * 4e6)
    }

    @Test(
        "random loss of 2, 5 and 10 % does not reduce the stream's bit rate", arguments: [0.02, 0.05, 0.10],
        [5, 6] as [UInt64])
    func randomLossKeepsBitrate(loss: Double, seed: UInt64) {
        var scene = scene(rate: 6e6, source: 2e6, loss: loss, jitter: .milliseconds(10), seed: seed)
        scene.run(for: .seconds(Int64(5)))
        let rate = scene.rate(for: .seconds(Int64(30)))
        #expect(rate > 0.85 * (1 - loss) * 2e6)
        #expect(abs(scene.flows[0].estimate.lossRate - loss) < 0.05)
    }

    @Test("two flows that start together share a link", arguments: [2, 3, 4] as [UInt64])
    func shares(seed: UInt64) {
        let flows = [
            CongestionFlow(source: 2e6, seed: seed &* 7), CongestionFlow(index: 1, source: 2e6, seed: seed &* 11),
        ]
        var scene = CongestionScene(
            link: CongestionLink(rate: 3e6, queueLimit: .milliseconds(300), seed: seed), flows: flows)
        scene.run(for: .seconds(Int64(60)))
        let total = Double(scene.flows[0].arrivedBytes + scene.flows[1].arrivedBytes)
        #expect((0.35...0.65).contains(Double(scene.flows[0].arrivedBytes) / total))
        #expect(total * 8 / 60 > 0.75 * 3e6)
    }

    @Test("a download on the same link leaves a quarter or more", arguments: [100, 300, 600] as [Int64])
    func besideDownload(queueLimit: Int64) {
        var scene = CongestionScene(
            link: CongestionLink(rate: 3e6, queueLimit: .milliseconds(queueLimit), seed: 1),
            flows: [CongestionFlow(source: 4e6, seed: 2)], download: LossBasedFlow(index: 1))
        scene.run(for: .seconds(Int64(8)))
        let before = scene.download?.arrivedBytes ?? 0
        let rate = scene.rate(for: .seconds(Int64(52)))
        #expect(rate > 0.25 * 3e6)
        let other = Double((scene.download?.arrivedBytes ?? 0) - before) * 8 / 52
        #expect(other > 0.25 * 3e6)
    }

    @Test("a stream that cannot grow finds twice its bandwidth by probes, and does not probe for more")
    func probesUpToTwiceTheStream() {
        var scene = scene(rate: 20e6, source: 1e6, seed: 3) {
            $0.isRigid = true
            $0.start(at: .kilobits(900))
        }
        scene.run(for: .seconds(Int64(15)))
        #expect(scene.flows[0].target >= 1.8e6)
        #expect(scene.flows[0].target < 4e6)
        #expect(scene.flows[0].estimate.isApplicationLimited)
        #expect(!scene.flows[0].estimate.isLimited)
        let probes = scene.flows[0].probes
        scene.run(for: .seconds(Int64(30)))
        #expect(scene.flows[0].probes == probes)
    }

    @Test("without probes the estimate stays below one and a half of what arrives")
    func estimateWithoutProbes() {
        var scene = scene(rate: 20e6, source: 1e6, seed: 3) {
            $0 = CongestionFlow(source: 1e6, start: .kilobits(900), canProbe: false, seed: 4)
            $0.isRigid = true
        }
        scene.run(for: .seconds(Int64(20)))
        #expect(scene.flows[0].probes == 0)
        #expect((1.2e6...1.9e6).contains(scene.flows[0].target))
    }

    @Test("with audio alone the estimate stays higher, and finds bandwidth for video within 5 s of its return")
    func audioOnlyKeepsEstimate() {
        var scene = scene(rate: 3e6, source: 2e6, seed: 5)
        scene.run(for: .seconds(Int64(8)))
        scene.link.rate = 0.1e6
        scene.run(for: .seconds(Int64(2)))
        scene.flows[0].hasVideo = false
        scene.run(for: .seconds(Int64(10)))
        #expect(scene.flows[0].target < 0.2e6)
        #expect(scene.link.queueDelay < .milliseconds(60))
        scene.link.rate = 3e6
        scene.run(for: .seconds(Int64(5)))
        #expect(scene.flows[0].target > 0.5e6)
    }

    @Test("a path on which nothing is sent since it was full is probed again and found to be free")
    func probesAfterSilence() {
        var scene = scene(rate: 3e6, source: 2e6, seed: 5) {
            $0.isRigid = true
            $0.hasAudio = false
        }
        scene.run(for: .seconds(Int64(8)))
        scene.link.rate = 0.6e6
        scene.run(for: .milliseconds(1_200))
        scene.flows[0].hasVideo = false
        scene.run(for: .seconds(Int64(1)))
        #expect(scene.flows[0].target < 1.2e6)
        #expect(scene.flows[0].estimate.isCongested)
        scene.link.rate = 3e6
        scene.run(for: .seconds(Int64(15)))
        #expect(scene.flows[0].target > 2e6)
        #expect(!scene.flows[0].estimate.isCongested)
    }

    @Test("five minutes of audio alone do not reduce the estimate")
    func longAudioOnlyKeepsEstimate() {
        var scene = scene(rate: 3e6, source: 2e6, jitter: .milliseconds(10), seed: 6)
        scene.run(for: .seconds(Int64(10)))
        scene.flows[0].hasVideo = false
        scene.run(for: .seconds(Int64(300)))
        #expect(scene.flows[0].target > 1.5e6)
    }

    @Test("a packet counts with its IP and UDP headers")
    func countsPacketOverhead() {
        var estimator = BandwidthEstimator(
            start: .kilobits(300), wanted: .kilobits(300), reportsArrivals: true, canProbe: false)
        var flow = TransportFeedbackRecorder()
        var now = Instant(nanoseconds: 1_000_000_000)
        for number in 0..<UInt16(1000) {
            estimator.sent(number, size: 100, at: now)
            flow.received(number, at: now + .milliseconds(20))
            now += .milliseconds(10)
            if let bytes = flow.report(at: now + .milliseconds(20)) {
                estimator.read(bytes, at: now + .milliseconds(40))
            }
        }
        // 128 bytes every 10 ms.
        let rate = Double(estimator.estimate.acknowledged?.bitsPerSecond ?? 0)
        #expect(abs(rate - 102_400) < 6_000)
    }

    @Test("the estimate starts with the assumed bit rate")
    func initialEstimate() {
        var estimator = BandwidthEstimator(
            start: .kilobits(2_500), wanted: .kilobits(2_000), reportsArrivals: true, canProbe: true)
        #expect(estimator.targetBitrate == .kilobits(2_500))
        #expect(!estimator.estimate.isLimited)
    }

    @Test("reports of 65,535 packets that were never sent change nothing")
    func ignoresReportsOfUnsentPackets() throws {
        var estimator = BandwidthEstimator(
            start: .kilobits(2_500), wanted: .kilobits(2_000), reportsArrivals: true, canProbe: true)
        var flow = TransportFeedbackRecorder()
        let start = Instant(nanoseconds: 1_000_000_000)
        for number in 0..<UInt16(50) { estimator.sent(number, size: 1_000, at: start) }
        for number in 30_000..<UInt16(34_000) { flow.received(number, at: start) }
        let report = flow.report(at: start + .milliseconds(200))
        estimator.read(try #require(report), at: start + .milliseconds(250))
        #expect(estimator.estimate.acknowledged == nil)
        #expect(estimator.estimate.lossRate == 0)
        #expect(estimator.targetBitrate == .kilobits(2_500))
    }

    @Test("lost reports do not count as lost packets")
    func ignoresLostReports() {
        var scene = scene(rate: 6e6, source: 2e6, seed: 8) { $0.reportLoss = 0.3 }
        scene.run(for: .seconds(Int64(5)))
        let rate = scene.rate(for: .seconds(Int64(20)))
        #expect(rate > 0.9 * 2e6)
        #expect(scene.flows[0].estimate.lossRate < 0.01)
    }

    @Test("REMB limits a peer without reports, and loss above 10 % reduces the rate of a peer with only loss")
    func withoutArrivals() {
        var estimator = BandwidthEstimator(
            start: .kilobits(2_500), wanted: .kilobits(2_000), reportsArrivals: false, canProbe: true)
        var now = Instant(nanoseconds: 1_000_000_000)
        estimator.receive(receiverLimit: .kilobits(700), at: now)
        #expect(estimator.targetBitrate == .kilobits(700))
        #expect(estimator.estimate.isLimited)
        estimator.receive(receiverLimit: .kilobits(9_000), at: now)
        #expect(estimator.targetBitrate >= .kilobits(2_000))
        for _ in 0..<10 {
            now += .seconds(Int64(1))
            estimator.receive(lost: 30, expected: 150, at: now)
        }
        #expect(estimator.targetBitrate < .kilobits(1_200))
        #expect(estimator.pollProbe() == nil)
        let lowered = estimator.targetBitrate
        for _ in 0..<10 {
            now += .seconds(Int64(1))
            estimator.receive(lost: 0, expected: 150, at: now)
        }
        #expect(estimator.targetBitrate > lowered)
    }

    @Test("the queue's delay and the round trip equal those of the link")
    func measures() {
        var scene = scene(rate: 5e6, source: 1e6, seed: 9)
        scene.run(for: .seconds(Int64(10)))
        let estimate = scene.flows[0].estimate
        #expect(estimate.queueDelay.map { $0 < .milliseconds(20) } == true)
        #expect(estimate.roundTrip.map { $0 > .milliseconds(45) && $0 < .milliseconds(90) } == true)
    }

    @Test("a peer whose clock jumps by days with each of 50,000 reports does not stop the estimator")
    func leapingClock() {
        var estimator = BandwidthEstimator(
            start: .kilobits(2_500), wanted: .kilobits(2_000), reportsArrivals: true, canProbe: true)
        var now = Instant(nanoseconds: 1_000_000_000)
        for index in 0..<50_000 {
            let number = UInt16(truncatingIfNeeded: index)
            estimator.sent(number, size: 1_000, cluster: estimator.pollProbe()?.id ?? 0, at: now)
            // One packet has arrived. The reference time advances by almost half of its 24 bits.
            let reference = UInt32(truncatingIfNeeded: index &* 0x7F_FFFF) & 0xFF_FFFF
            let bytes: [UInt8] = [
                0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, UInt8(number >> 8), UInt8(number & 0xFF), 0, 1,
                UInt8(reference >> 16), UInt8(reference >> 8 & 0xFF), UInt8(reference & 0xFF), UInt8(index & 0xFF),
                0x20, 1, 4, 0,
            ]
            now += .milliseconds(10)
            estimator.read(bytes, at: now)
        }
        #expect(BandwidthEstimator.range.contains(estimator.targetBitrate))
        #expect(estimator.estimate.roundTrip.map { $0 >= .zero && $0 <= .seconds(Int64(5)) } == true)
    }

    @Test("a report that waited before it was read does not increase the round trip")
    func lateReading() {
        var estimator = BandwidthEstimator(
            start: .kilobits(500), wanted: .kilobits(3_000), reportsArrivals: true, canProbe: false)
        let now = Instant(nanoseconds: 1_000_000_000)
        for number in 0..<UInt16(2) { estimator.sent(number, size: 1_000, at: now) }
        let bytes: [UInt8] = [
            0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 1, 0, 0x20, 2, 4, 0,
        ]
        estimator.read(bytes, waited: .milliseconds(10), at: now + .milliseconds(60))
        // The other packet arrived a millisecond later. The report was made then or afterwards.
        #expect(estimator.estimate.roundTrip == .milliseconds(50))
    }

    @Test("a datagram reports at most twice the number of packets in the history")
    func maximumReported() {
        var estimator = BandwidthEstimator(
            start: .kilobits(500), wanted: .kilobits(3_000), reportsArrivals: true, canProbe: false)
        let now = Instant(nanoseconds: 1_000_000_000)
        for number in 0..<UInt16(10) { estimator.sent(number, size: 1_000, at: now) }
        // Runs of packets that have not arrived, up to the first of this test. Then a message for a packet that has
        // arrived.
        func message(from first: UInt16, count: UInt16, chunk: [UInt8]) -> [UInt8] {
            let head: [UInt8] = [
                0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, UInt8(first >> 8), UInt8(first & 0xFF), UInt8(count >> 8),
                UInt8(count & 0xFF), 0, 0, 1, 0,
            ]
            return head + chunk
        }
        let useless = message(from: 20_000, count: 8_191, chunk: [0x1F, 0xFF, 0, 0])
        let ours = message(from: 0, count: 2, chunk: [0x20, 2, 4, 4])
        estimator.read(useless + ours, at: now + .milliseconds(50))
        #expect(estimator.estimate.roundTrip == nil)
        estimator.read(ours, at: now + .milliseconds(60))
        #expect(estimator.estimate.roundTrip != nil)
    }

    @Test("another path is measured again, from the rate of the old one")
    func anotherPath() {
        var scene = scene(rate: 3e6, source: 4e6, seed: 4)
        scene.run(for: .seconds(Int64(10)))
        let before = scene.flows[0].target
        scene.link.delay = .milliseconds(90)
        scene.link.rate = 8e6
        scene.flows[0].changePath(at: scene.now)
        #expect(scene.flows[0].target == before)
        #expect(!scene.flows[0].estimate.isLimited)
        scene.run(for: .seconds(Int64(4)))
        #expect(scene.flows[0].target > 4e6)
        #expect(scene.flows[0].estimate.queueDelay.map { $0 < .milliseconds(30) } == true)
    }

    @Test("packets that were sent and arrived together have the same result as single ones", arguments: UInt64(1)...8)
    func runs(seed: UInt64) {
        func estimator() -> BandwidthEstimator {
            BandwidthEstimator(
                start: .kilobits(1_000), wanted: .kilobits(2_300), reportsArrivals: true, canProbe: false)
        }
        var generator = SeededGenerator(seed: seed)
        var (together, oneByOne) = (estimator(), estimator())
        var recorder = TransportFeedbackRecorder()
        var now = Instant(nanoseconds: 1_000_000_000)
        var delay = TimeSpan.milliseconds(20)
        var number: UInt16 = 65_000
        for _ in 0..<900 {
            now += .milliseconds(33)
            delay = max(delay + .milliseconds(Int64.random(in: -3...4, using: &generator)), .milliseconds(20))
            delay = min(delay, .milliseconds(120))
            for index in 0..<Int64.random(in: 1...9, using: &generator) {
                let size = Int.random(in: 200...1_200, using: &generator)
                together.sent(number, size: size, at: now)
                // Packets that leave at different times are not a run.
                oneByOne.sent(number, size: size, at: now + .nanoseconds(index))
                if Int.random(in: 0..<50, using: &generator) > 0 { recorder.received(number, at: now + delay) }
                number &+= 1
            }
            guard let report = recorder.report(at: now + delay) else { continue }
            together.read(report, at: now + delay)
            oneByOne.read(report, at: now + delay)
        }
        let (left, right) = (together.estimate, oneByOne.estimate)
        #expect(left.lossRate == right.lossRate && left.lossRate > 0)
        // The difference of nanoseconds may change a comparison.
        #expect(abs(left.target.bitsPerSecond - right.target.bitsPerSecond) < right.target.bitsPerSecond / 20)
        #expect(abs((left.acknowledged?.bitsPerSecond ?? 0) - (right.acknowledged?.bitsPerSecond ?? .max)) < 1_000)
        #expect(abs(((left.queueDelay ?? .zero) - (right.queueDelay ?? .seconds(Int64(9)))).nanoseconds) < 1_000)
    }
}
