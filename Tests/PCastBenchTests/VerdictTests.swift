import PCastCore
import PCastJSON
import PCastRTP
import Testing

@testable import PCastBench
@testable import PCastTimeline
@testable import PCastWebRTC

@Suite("Percentiles and targets")
struct PercentileTests {
    @Test("a percentile is the value of the nearest rank, whatever the order of the values")
    func ranks() {
        let values = [5.0, 1, 4, 2, 3]
        #expect(Percentile.of(values, 0) == 1 && Percentile.of(values, 0.2) == 1)
        #expect(Percentile.of(values, 0.21) == 2 && Percentile.of(values, 0.5) == 3)
        #expect(Percentile.of(values, 0.99) == 5 && Percentile.of(values, 1) == 5)
        #expect(Percentile.of([7], 0.5) == 7)
    }

    @Test("there is no percentile without values")
    func empty() { #expect(Percentile.of([], 0.5) == nil) }

    @Test(
        "a target holds up to its limit",
        arguments: [
            (.atMost(2), [2, -5], [2.001]), (.atLeast(2), [2, 7], [1.999]), (.within(2), [2, -2], [2.001, -2.001]),
            (.exactly(0), [0], [0.001, -1]),
        ] as [(Target.Bound, [Double], [Double])])
    func bounds(_ bound: Target.Bound, _ good: [Double], _ bad: [Double]) {
        let target = Target("metric", bound)
        for value in good { #expect(target.holds(for: value), "\(value), \(target.text)") }
        for value in bad { #expect(!target.holds(for: value), "\(value), \(target.text)") }
    }

    @Test("a target does not hold if the value could not be measured")
    func unknown() {
        #expect(!Target("metric", .atMost(2)).holds(for: nil))
        #expect(!Target("metric", .atMost(2)).holds(for: .nan) && !Target("metric", .atLeast(2)).holds(for: .nan))
    }
}

@Suite("Rounds of the fan-out")
struct FanOutRoundTests {
    private func round(_ nanoseconds: Int64, packets: Int = 1, load: Double = 0.5, drops: Int = 0) -> FanOutRound {
        FanOutRound(
            processorTime: TimeSpan(nanoseconds: nanoseconds), packets: packets, missing: 0, unauthentic: 0, idle: 0,
            ownDrops: drops, loadShare: load, perMessage: 1, elapsed: .seconds(1))
    }

    @Test("the result is the median of the costs of a packet")
    func median() {
        #expect(FanOutRound.median([]) == nil)
        #expect(FanOutRound.median([round(900), round(7_000, packets: 10), round(800)]) == 800)
    }

    @Test("a round is void if the load generator was the limit")
    func void() {
        #expect(!round(1).isVoid && !round(1, load: 0.7).isVoid)
        #expect(round(1, load: 0.71).isVoid && round(1, drops: 1).isVoid)
    }

    @Test("a round without packets has a finite cost, and none divides by zero messages")
    func nothing() {
        #expect(round(900, packets: 0).nanosecondsPerPacket == 900)
        #expect(FanOutRound.perMessage((10, 4), (30, 4)) == 20 && FanOutRound.perMessage((10, 4), (30, 8)) == 5)
    }
}

@Suite("The statistics of a viewer between two events")
struct ViewerMeasurementTests {
    private func events(_ values: [[String: Double]]) -> [RecordedProcess.Event] {
        values.enumerated().map { second, values in
            var object = JSONObject()
            for (name, value) in values { object[name] = .number(value) }
            return .init(instant: Instant(nanoseconds: Int64(second + 10) * 1_000_000_000), object: object)
        }
    }

    private func measurement(_ field: String, _ values: [Double]) throws -> ViewerMeasurement {
        try ViewerMeasurement(events(values.map { [field: $0] }), firstFrame: nil)
    }

    @Test("counters are compared over the whole interval")
    func counters() throws {
        #expect(try measurement("framesRendered", [100, 130, 160]).framesPerSecond == 30)
        #expect(try measurement("freezeDuration", [500, 500, 900]).freezeShare == 0.2)
        #expect(try measurement("freezeCount", [3, 4, 5]).freezeCount == 2)
        #expect(try measurement("framesRendered", [100, 130]).freezeCount == nil)
    }

    @Test("the longest freeze is at most the largest step of the freeze duration")
    func longestFreeze() throws {
        #expect(try measurement("freezeDuration", [0, 100, 100, 450, 500]).longestFreeze == 350)
        #expect(try measurement("freezeDuration", [0, 100]).longestFreeze == nil)
    }

    @Test("the latency grows if it exceeds its previous maximum clearly, and not if it only returns to it")
    func growths() throws {
        #expect(try measurement("latencyP50", [0, 40, 90, 40, 100]).latencyGrowths == 0)
        #expect(try measurement("latencyP50", [0, 40, 101, 40, 101, 162]).latencyGrowths == 2)
    }

    @Test("concealed audio is that of the interval, although the events count from the first frame")
    func concealed() throws {
        let values = [["audioConcealed": 0.1], ["audioConcealed": 0.1], ["audioConcealed": 0.2]]
        let measurement = try ViewerMeasurement(events(values), firstFrame: Instant(nanoseconds: 0))
        // 0.2 of 12 s less 0.1 of 10 s, of 2 s.
        #expect(abs(try #require(measurement.concealedShare) - 0.7) < 1e-9)
    }

    @Test("an interval with one event has no statistics")
    func short() { #expect(throws: BenchFailure.self) { try measurement("latencyP50", [1]) } }
}

@Suite("The check of a track's packets")
struct PacketCheckerTests {
    private func packet(
        _ sequence: Int64, _ timestamp: UInt32, marker: Bool = true, payload: Range<Int> = 12..<100,
        isRetransmission: Bool = false
    ) -> MediaReceiver.Packet {
        .init(
            type: .video, layer: 0, sequence: sequence, timestamp: timestamp,
            sequenceNumber: UInt16(truncatingIfNeeded: sequence), marker: marker, payload: payload, codec: .h264,
            isRetransmission: isRetransmission, isRestart: false, forwarded: RTPExtensionValues())
    }

    private func checked(_ packets: [MediaReceiver.Packet]) -> PacketChecker {
        var checker = PacketChecker(.video, rate: .video)
        let now = WallTime(millisecondsSinceEpoch: 0)
        for packet in packets { checker.received(packet, captureTime: nil, arrival: now) }
        return checker
    }

    @Test("missing, late and repeated packets are counted separately")
    func packets() {
        let checker = checked([
            packet(1, 0), packet(2, 3_000), packet(5, 6_000), packet(4, 6_000),
            packet(3, 6_000, isRetransmission: true), packet(6, 9_000),
        ])
        #expect(checker.packets == 5 && checker.missing == 2 && checker.reordered == 1 && checker.repeated == 1)
        #expect(checker.frames == 3 && checker.backwards == 0)
    }

    @Test("padding is a packet, but no frame, and has no step in time")
    func padding() {
        let checker = checked([packet(1, 0), packet(2, 900_000, payload: 12..<12), packet(3, 3_000)])
        #expect(checker.packets == 3 && checker.missing == 0 && checker.frames == 1)
        #expect((checker.longestStep - .milliseconds(33)).magnitude < .milliseconds(1))
    }

    @Test("frames in the wrong order are found, also over the wrap of the timestamp")
    func order() {
        #expect(checked([packet(1, 6_000), packet(2, 3_000)]).backwards == 1)
        #expect(checked([packet(1, .max - 999), packet(2, 2_000)]).backwards == 0)
    }
}

@Suite("The oracle of timelines")
struct TimelineOracleTests {
    private static let beginning = WallTime(millisecondsSinceEpoch: 1_000_000)

    /// Judges one delivery 1 ms after the last of the frames, which are shown 40 ms apart.
    private func verdict(
        frames: [Int], gate milliseconds: Int64, recordedAt: Int64? = nil, reason: TimelineDelivery.Reason? = nil
    ) throws -> TimelineOracle.Verdict {
        let shown = frames.enumerated().map { index, counter in
            RecordingSurface.ShownFrame(counter: counter, moment: Instant(nanoseconds: Int64(index) * 40_000_000))
        }
        let oracle = TimelineOracle(
            shownFrames: shown, time: { Self.beginning + StampedVideo.position(of: $0) },
            recorded: { _ in recordedAt.map { Instant(nanoseconds: $0 * 1_000_000) } })
        let gate = Self.beginning + .milliseconds(milliseconds)
        let delivery = TimelineDelivery(
            subject: .event(try TimelineEventID("a"), GameEvent()), type: .added, reason: reason,
            number: SequenceNumber(1), at: gate, gate: gate)
        let moment = (shown.last?.moment ?? Instant(nanoseconds: 0)) + .milliseconds(1)
        return oracle.judge([.init(delivery: delivery, moment: moment)])
    }

    private func expectLate(_ verdict: TimelineOracle.Verdict, _ milliseconds: Double) {
        #expect(verdict.early == 0 && verdict.late.count == 1, "\(verdict)")
        #expect(verdict.late.allSatisfy { abs($0 - milliseconds) < 0.001 }, "\(verdict)")
    }

    @Test("the lateness of an event is the time since its frame was shown")
    func late() throws {
        expectLate(try verdict(frames: [0, 1, 2, 3], gate: 120), 1)
        expectLate(try verdict(frames: [0, 1, 2, 3], gate: 80), 41)
    }

    @Test("an event before its frame, or before any frame, is early")
    func early() throws {
        #expect(try verdict(frames: [0, 1, 2, 3], gate: 160).early == 1)
        #expect(try verdict(frames: [], gate: 0).early == 1)
    }

    @Test("after a seek, an event is late from the first frame after it")
    func seek() throws {
        expectLate(try verdict(frames: [0, 1, 500, 501], gate: 400), 41)
        // The withdrawal of an event that has not happened yet is never early.
        expectLate(try verdict(frames: [500, 501, 3], gate: 20_000, reason: .seek), 1)
    }

    @Test("an event that is recorded late is late from then on")
    func recorded() throws { expectLate(try verdict(frames: [0, 1, 2, 3], gate: 40, recordedAt: 110), 11) }
}
