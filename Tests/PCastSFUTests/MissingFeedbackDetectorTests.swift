import PCastCore
import PCastTestSupport
import Testing

@testable import PCastSFU

/// Retransmissions without requests for a viewer whose reports are missing.
struct ReportSilenceTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let roundTrip = TimeSpan.milliseconds(100)
    private static let tick = TimeSpan.milliseconds(10)

    private static func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

    /// Returns the detector of a viewer with regular reports for two seconds, the last one at `start`.
    private static func silence(each interval: Int64) -> MissingFeedbackDetector {
        var silence = MissingFeedbackDetector()
        for report in stride(from: -(2_000 / interval) * interval, through: 0, by: Int(interval)) {
            silence.observe(at: at(Int64(report)))
        }
        return silence
    }

    @Test("with regular reports, nothing is retransmitted without a request", arguments: [20, 50, 100, 250])
    func regular(interval: Int64) {
        var silence = Self.silence(each: interval)
        for time in 0..<3_000 as Range<Int64> {
            if time % interval == 0 { silence.observe(at: Self.at(time)) }
            #expect(silence.takeUnreported(roundTrip: Self.roundTrip, at: Self.at(time)) == nil)
        }
    }

    @Test("while reports are missing, each moment is repaired once, as soon as a report on it is overdue")
    func overdue() throws {
        var silence = Self.silence(each: 100)
        var spans: [(span: Range<Instant>, at: Instant)] = []
        for time in stride(from: 0, to: 500, by: 10) as StrideTo<Int64> {
            let now = Self.at(time)
            if let span = silence.takeUnreported(roundTrip: Self.roundTrip, at: now) { spans.append((span, now)) }
        }
        let first = try #require(spans.first)
        #expect(first.span.lowerBound == Self.at(-100))
        #expect(first.at <= Self.at(150))
        for (former, latter) in zip(spans, spans.dropFirst()) {
            #expect(former.span.upperBound == latter.span.lowerBound)
        }
        for (span, now) in spans { #expect(now - span.upperBound < .milliseconds(250)) }
    }

    @Test("a report ends the silence, and its time is not repaired any more")
    func ended() {
        var silence = Self.silence(each: 100)
        #expect(silence.takeUnreported(roundTrip: Self.roundTrip, at: Self.at(300)) != nil)
        silence.observe(at: Self.at(301))
        #expect(silence.takeUnreported(roundTrip: Self.roundTrip, at: Self.at(400)) == nil)
    }

    @Test("nothing is repaired after a second of silence, or before the first report")
    func gone() {
        var silence = Self.silence(each: 100)
        #expect(silence.takeUnreported(roundTrip: Self.roundTrip, at: Self.at(1_001)) == nil)
        var never = MissingFeedbackDetector()
        #expect(never.takeUnreported(roundTrip: Self.roundTrip, at: Self.at(200)) == nil)
    }

    @Test("reports that become permanently rarer count as usual after a while")
    func rarer() {
        var silence = Self.silence(each: 50)
        var repaired: [Int64] = []
        for time in 0..<10_000 as Range<Int64> {
            if time % 250 == 0 { silence.observe(at: Self.at(time)) }
            if silence.takeUnreported(roundTrip: Self.roundTrip, at: Self.at(time)) != nil { repaired.append(time) }
        }
        #expect(!repaired.isEmpty && repaired.allSatisfy { $0 < 7_500 })
    }

    @Test("most frames arrive in time on a hop with bursts of losses that also drop reports")
    func lossy() throws {
        let late = try (11...15 as ClosedRange<UInt64>).map(Self.late)
        // It is 117 of 18,000, and 268 without these retransmissions.
        #expect(late.reduce(0, +) < 190, "\(late)")
    }

    /// Returns how many of 3600 frames arrive more than 350 ms after they were sent.
    private static func late(seed: UInt64) throws -> Int {
        let network = VirtualNetwork(seed: seed)
        let publisher = try network.publish(.vp8)
        var link = VirtualNetwork.Link(delay: .milliseconds(50))
        link.down.loss = .bursts(GilbertElliott(share: 0.05, length: 4))
        network.link = link
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        // The loss is known after some seconds.
        broadcast.send(300, from: publisher, by: network)
        let settled = broadcast.sent.count
        for _ in 0..<60 {
            link.up.loss = .random(1)
            viewer.link = link
            broadcast.send(12, from: publisher, by: network)
            link.up.loss = .none
            viewer.link = link
            broadcast.send(48, from: publisher, by: network)
        }
        return zip(viewer.video, viewer.videoTimes).count { frame, time in
            guard let number = broadcast.number(of: frame.frame), number >= settled else { return false }
            return time - broadcast.instants[number] > .milliseconds(350)
        }
    }
}
