import PCastCore
import PCastTimeline
import Testing

@Suite("The clock of a timeline's producer")
struct ProducerClockTests {
    /// Adds a request that was sent at a time of the producer's clock and arrived at one of the platform's, in
    /// milliseconds.
    private static func observe(
        _ clock: inout ProducerClock, sent: Int64, received: Int64, precision: TimeSpan = .milliseconds(1)
    ) {
        clock.observe(
            sentAt: WallTime(millisecondsSinceEpoch: sent), precision: precision,
            receivedAt: WallTime(millisecondsSinceEpoch: received))
    }

    @Test("without a request, the difference is unknown, and nobody is reported")
    func unknown() {
        let clock = ProducerClock()
        #expect(clock.difference == nil && !clock.isOff)
    }

    @Test("the fastest request decides, whatever the others took")
    func fastest() {
        var clock = ProducerClock()
        Self.observe(&clock, sent: 10_000, received: 13_000)
        #expect(clock.isOff && clock.difference == .milliseconds(-2_999))
        Self.observe(&clock, sent: 20_000, received: 20_090)
        Self.observe(&clock, sent: 30_000, received: 30_500)
        #expect(!clock.isOff && clock.difference == .milliseconds(-89))
    }

    @Test(
        "a producer that is off by more than 200 ms is reported, and one at the limit is not",
        arguments: [(200, false), (201, true), (5_000, true), (-201, false), (-202, true), (0, false)]
            as [(Int64, Bool)])
    func limit(_ ahead: Int64, _ isOff: Bool) {
        var clock = ProducerClock()
        Self.observe(&clock, sent: 100_000 + ahead, received: 100_000)
        #expect(clock.isOff == isOff, "\(clock.difference ?? .zero)")
    }

    @Test("a time in whole seconds proves a difference only beyond a second")
    func wholeSeconds() {
        var clock = ProducerClock()
        Self.observe(&clock, sent: 100_000, received: 100_999, precision: .seconds(1))
        #expect(!clock.isOff && clock.difference == .zero)
        var behind = ProducerClock()
        Self.observe(&behind, sent: 100_000, received: 101_300, precision: .seconds(1))
        #expect(behind.isOff && behind.difference == .milliseconds(-300))
        var ahead = ProducerClock()
        Self.observe(&ahead, sent: 101_000, received: 100_700, precision: .seconds(1))
        #expect(ahead.isOff && ahead.difference == .milliseconds(300))
    }

    @Test("a clock that was corrected is reported as correct after some requests, or after some minutes")
    func corrected() {
        var clock = ProducerClock()
        Self.observe(&clock, sent: 5_000, received: 0)
        for request in 1..<ProducerClock.capacity {
            Self.observe(&clock, sent: Int64(request) * 100, received: Int64(request) * 100 + 1)
            #expect(clock.isOff)
        }
        Self.observe(&clock, sent: 10_000, received: 10_001)
        #expect(!clock.isOff)

        var rare = ProducerClock()
        Self.observe(&rare, sent: 5_000, received: 0)
        Self.observe(&rare, sent: 299_999, received: 300_000)
        #expect(rare.isOff)
        Self.observe(&rare, sent: 300_000, received: 300_001)
        #expect(!rare.isOff)
    }

    @Test("any stated time is accepted, and the difference is bounded")
    func extremes() {
        var clock = ProducerClock()
        let now = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        for stated in [Int64.min, .max] {
            clock.observe(
                sentAt: WallTime(nanosecondsSinceEpoch: stated), precision: .milliseconds(1), receivedAt: now)
            #expect((clock.difference ?? .zero).magnitude <= .seconds(86_400 * 365))
            #expect(clock.isOff)
        }
    }
}
