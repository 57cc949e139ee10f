import PCastCore
import PCastRTP
import Testing

@Suite struct PacerTests {
    private static let start = Instant(nanoseconds: 5_000_000_000)

    /// Sends `count` packets that wait since the start. Returns the time of each.
    private func passing(
        _ count: Int, size: Int = 1_250, by pacer: inout Pacer, from start: Instant = Self.start
    ) -> [TimeSpan] {
        var now = start
        var times: [TimeSpan] = []
        while times.count < count {
            if pacer.mayPass(queued: count - times.count, waited: now - start, at: now) {
                pacer.sent(bytes: size, at: now)
                times.append(now - start)
            } else if let deadline = pacer.deadline {
                #expect(deadline > now)
                now = deadline
            } else {
                Issue.record("packets are queued without a deadline")
                return times
            }
        }
        return times
    }

    @Test("a burst is at most 5 ms of the pacing rate, and the rest is sent at two and a half times the target")
    func bursts() {
        var pacer = Pacer(target: .kilobits(4_000))
        let times = passing(40, by: &pacer)
        // 10 Mbit/s: 6,250 bytes in 5 ms, and 1 ms for each packet.
        for index in times.indices {
            let burst = times[index...].prefix { $0 - times[index] < .microseconds(10) }
            #expect(burst.count * 1_250 <= 6_250)
        }
        #expect(abs((times[39] - times[0]).milliseconds - 35) < 3)
    }

    @Test("packets that were held back leave several at a time, which saves system calls")
    func together() {
        var pacer = Pacer(target: .kilobits(4_000))
        let times = passing(40, by: &pacer)
        #expect(Set(times).count <= 20)
    }

    /// Returns how many of a number of consecutive packets leave at once.
    private func whole(_ count: Int, by pacer: inout Pacer, at now: Instant) -> Int {
        let granted = pacer.grant(queued: count, waited: .zero, bytes: count * 1_250, at: now)
        guard let granted else { return 0 }
        var sent = 0
        while sent < count, sent * 1_250 <= granted { sent += 1 }
        pacer.sent(bytes: sent * 1_250, at: now)
        return sent
    }

    @Test("a frame of about usual size is sent at once, and a large one in bursts of 5 ms")
    func wholeFrames() {
        // 6.25 Mbit/s: 3,906 bytes in 5 ms, 12,500 in sixteen. Eight packets are those of 30 frames per second at 2.4
        // Mbit/s.
        var pacer = Pacer(target: .kilobits(2_500))
        #expect(whole(8, by: &pacer, at: Self.start) == 8)
        #expect(whole(3, by: &pacer, at: Self.start) == 0, "no packet may be sent before its time")
        #expect(whole(8, by: &pacer, at: Self.start + .milliseconds(10)) == 8)
        #expect(whole(11, by: &pacer, at: Self.start + .milliseconds(100)) == 3)
        // At most sixteen packets leave at once, however wide the path is.
        var wide = Pacer(target: .kilobits(8_000))
        #expect(whole(16, by: &wide, at: Self.start) == 16)
        #expect(whole(17, by: &wide, at: Self.start + .seconds(1)) == 10)
    }

    @Test("on a path below the wanted rate no frame is sent at once", arguments: [true, false])
    func narrow(isCongested: Bool) {
        var pacer = Pacer(target: .kilobits(2_500))
        // 1.25 times 5 Mbit/s: 3,906 bytes in 5 ms; without that factor 3,125.
        pacer.setTarget(
            .kilobits(5_000), wanted: .kilobits(6_000), congestionState: isCongested ? .congested : .limited)
        #expect(whole(5, by: &pacer, at: Self.start) == (isCongested ? 2 : 3))
        // A frame that exceeds the path's known capacity of 40 ms is not sent at once either.
        var slow = Pacer(target: .kilobits(1_500))
        #expect(whole(8, by: &slow, at: Self.start) == 1)
    }

    @Test("a frame of one packet is sent at once, however low the target")
    func single() {
        var pacer = Pacer(target: .kilobits(100))
        var now = Self.start
        for _ in 0..<50 {
            #expect(pacer.mayPass(queued: 1, waited: .zero, at: now) == true)
            pacer.sent(bytes: 200, at: now)
            now += .milliseconds(20)
        }
    }

    @Test("a key frame of 100 packets leaves within 200 ms at any target", arguments: [50, 300, 1_000, 5_000])
    func keyFrameDurationLimit(kilobits: Int64) throws {
        var pacer = Pacer(target: .kilobits(kilobits))
        let last = try #require(passing(100, by: &pacer).last)
        #expect(last <= .milliseconds(210))
    }

    @Test("audio counts for the pace but is not paced")
    func audio() {
        var pacer = Pacer(target: .kilobits(200))
        #expect(pacer.mayPass(queued: 1, waited: .zero, at: Self.start) == true)
        for _ in 0..<20 { pacer.sent(bytes: 200, at: Self.start) }
        #expect(pacer.mayPass(queued: 1, waited: .zero, at: Self.start) == false)
    }

    /// Returns the first probe of a peer that reports. There is none before its report.
    private static func probeAfterReport() throws -> ProbeCluster {
        var estimator = BandwidthEstimator(
            start: .kilobits(500), wanted: .kilobits(3_000), reportsArrivals: true, canProbe: true)
        var recorder = TransportFeedbackRecorder()
        for number in 0..<UInt16(30) {
            estimator.sent(number, size: 500, at: Self.start)
            recorder.received(number, at: Self.start + .milliseconds(Int64(number)))
        }
        #expect(estimator.pollProbe() == nil)
        let report = recorder.report(at: Self.start + .milliseconds(150))
        estimator.read(try #require(report), at: Self.start + .milliseconds(150))
        let polled = estimator.pollProbe()
        return try #require(polled)
    }

    @Test("a probe has its own rate, uses waiting media, and ends when it is complete")
    func probe() throws {
        var pacer = Pacer(target: .kilobits(500))
        let cluster = try Self.probeAfterReport()
        #expect(cluster.rate > .kilobits(1_000))
        var now = Self.start + .milliseconds(200)
        pacer.begin(cluster, at: now)
        #expect(pacer.cluster == cluster.id)
        var sent = 0
        while pacer.isProbing, sent < 100 {
            if pacer.mayProbe(at: now) {
                pacer.sent(bytes: 300, at: now)
                sent += 1
            } else {
                let deadline = pacer.deadline
                now = try #require(deadline)
            }
        }
        #expect(sent >= ProbeCluster.minimumPackets)
        let span = now - Self.start - .milliseconds(200)
        #expect(span > .milliseconds(8) && span < .milliseconds(20))
        #expect(pacer.cluster == 0)
    }

    @Test("a probe that takes too long ends, and waiting packets are sent or have a time")
    func lateProbe() throws {
        var pacer = Pacer(target: .kilobits(500))
        let cluster = try Self.probeAfterReport()
        pacer.begin(cluster, at: Self.start)
        let passed = pacer.mayPass(queued: 1, waited: .zero, at: Self.start + .seconds(1))
        let isProbing = pacer.isProbing
        #expect(passed && !isProbing)
        pacer.begin(cluster, at: Self.start + .seconds(1))
        pacer.sent(bytes: 50_000, at: Self.start + .seconds(1))
        pacer.begin(cluster, at: Self.start + .seconds(1))
        let passedFull = pacer.mayPass(queued: 1, waited: .zero, at: Self.start + .milliseconds(1_510))
        let deadline = pacer.deadline
        #expect(passedFull || deadline != nil)
    }

    @Test("a probe without anything to send ends, and leaves no deadline")
    func abandoned() throws {
        var estimator = BandwidthEstimator(
            start: .kilobits(500), wanted: .kilobits(3_000), reportsArrivals: true, canProbe: true)
        var recorder = TransportFeedbackRecorder()
        estimator.sent(0, size: 500, at: Self.start)
        recorder.received(0, at: Self.start)
        let report = recorder.report(at: Self.start + .milliseconds(150))
        estimator.read(try #require(report), at: Self.start)
        let cluster = estimator.pollProbe()
        var pacer = Pacer(target: .kilobits(500))
        pacer.begin(try #require(cluster), at: Self.start)
        pacer.nothingWaits()
        let (isProbing, deadline) = (pacer.isProbing, pacer.deadline)
        #expect(!isProbing)
        #expect(deadline == nil)
    }

    @Test("frames since an old key frame are sent at twice the wanted rate, for any number of them")
    func catchUp() {
        var pacer = Pacer(target: .kilobits(2_500), opening: .kilobits(25_000), wanted: .kilobits(1_000))
        var (now, sent) = (Self.start, 0)
        let end = Self.start + .seconds(1 as Int64)
        while now < end {
            let granted = pacer.grant(
                queued: 1_000, waited: .seconds(5 as Int64), bytes: 1_250_000, backlog: .catchUp, at: now)
            if granted != nil {
                pacer.sent(bytes: 1_250, at: now)
                sent += 1_250
            } else if let deadline = pacer.deadline {
                now = deadline
            }
        }
        #expect(abs(sent - 250_000) < 5_000, "\(sent) bytes in a second")
    }

    @Test("an old key frame is sent at the usual rate, not at that of everything after it")
    func oldKeyFrame() {
        for (backlog, isLess) in [(Pacer.Backlog.keyFrame, true), (.live, false)] {
            var pacer = Pacer(target: .kilobits(4_000))
            _ = pacer.grant(queued: 1_000, waited: .seconds(5 as Int64), backlog: backlog, at: Self.start)
            pacer.sent(bytes: 20_000, at: Self.start)
            let next = pacer.grant(
                queued: 984, waited: .seconds(5 as Int64), backlog: backlog, at: Self.start + .milliseconds(1))
            #expect((next == nil) == isLess)
        }
    }
}
