import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@Suite("The clock of a sender from its reports")
struct SenderClockTests {
    private static let wall = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)
    private static let instant = Instant(nanoseconds: 4_000_000_000)

    private func report(at milliseconds: Int64) -> SenderInformation {
        SenderInformation(
            ssrc: 1, ntpTimestamp: (Self.wall + .milliseconds(milliseconds)).ntpTimestamp, rtpTimestamp: 0,
            packetCount: 0, octetCount: 0)
    }

    private var truth: TimeSpan { .nanoseconds(Self.instant.nanoseconds - Self.wall.nanosecondsSinceEpoch) }

    @Test(
        "viewers of one SFU know its clock to a few milliseconds, whatever the network",
        arguments: [10, 40, 120])
    func offset(roundTrip: Int64) throws {
        var generator = SeededGenerator(seed: UInt64(roundTrip))
        var clock = SenderClock()
        #expect(clock.offset(roundTrip: .zero) == nil)
        for second in 0..<20 as Range<Int64> {
            let jitter = TimeSpan.microseconds(Int64.random(in: 0...10_000, using: &generator))
            let arrival = Self.instant + .milliseconds(second * 1_000 + roundTrip / 2) + jitter
            clock.received(report(at: second * 1_000), at: arrival)
        }
        let offset = try #require(clock.offset(roundTrip: .milliseconds(roundTrip)))
        #expect((offset - truth).magnitude < .milliseconds(3))
    }

    @Test("a drifting clock is followed, and a longer path is adopted within half a minute")
    func follows() throws {
        var clock = SenderClock()
        for second in 0..<100 as Range<Int64> {
            let drift = TimeSpan.microseconds(second * 100)
            let way: Int64 = second < 50 ? 5 : 45
            clock.received(report(at: second * 1_000), at: Self.instant + .milliseconds(second * 1_000 + way) + drift)
        }
        let offset = try #require(clock.offset(roundTrip: .milliseconds(90)))
        #expect((offset - truth - .milliseconds(9)).magnitude < .milliseconds(4))
        clock.restart()
        #expect(clock.offset(roundTrip: .zero) == nil)
    }
}

/// Virtual time for the data quality's machines. It observes every half second, and records the reported rows with
/// their times.
struct QualityClock {
    static let interval = TimeSpan.milliseconds(500)

    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    private(set) var received: [(at: Double, row: DataQuality)] = []
    private let began = Instant(nanoseconds: 1_000_000_000_000)

    /// Runs for this many seconds and observes the quality.
    mutating func run(_ seconds: Double, _ look: (Instant) -> DataQuality?) {
        let end = now + TimeSpan(seconds: seconds)
        while now < end {
            now += Self.interval
            if let row = look(now) { received.append(((now - began).seconds, row)) }
        }
    }

    var rows: [DataQuality] { received.map(\.row) }

    mutating func discard() { received = [] }
}

extension DataQuality {
    static func row(_ status: Status, _ reason: Reason) -> DataQuality { DataQuality(status: status, reason: reason) }
}
