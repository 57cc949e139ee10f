import PCastCore
import PCastRTP
import Testing

@Suite("A stream with one layer and its viewers")
struct SharedLimitTests {
    private struct Audience {
        var machine = SharedLimit()
        var now = Instant(nanoseconds: 0)
        var estimates: [Int64]
        var limited: Int

        mutating func run(_ seconds: Double) -> [Int64?] {
            var asked: [Int64?] = []
            let end = now + TimeSpan(seconds: seconds)
            while now < end {
                now += .milliseconds(500)
                var rates = estimates.map { Bitrate.kilobits($0) }
                machine.observe(
                    estimates: &rates, viewers: estimates.count, limited: limited, wanted: .kilobits(2_000), at: now)
                let rate = machine.bitrate.map { $0.bitsPerSecond / 1_000 }
                if asked.last != rate { asked.append(rate) }
            }
            return asked
        }
    }

    @Test("one limited viewer of three has no effect; two reduce the publisher to their bandwidth")
    func half() {
        var audience = Audience(estimates: [3_000, 400, 3_000], limited: 1)
        #expect(audience.run(20) == [nil])
        audience.estimates = [3_000, 400, 600]
        audience.limited = 2
        #expect(audience.run(5) == [nil, 600])
        var two = Audience(estimates: [500, 3_000], limited: 1)
        #expect(two.run(5) == [nil, 500])
    }

    @Test("the rate decreases at once, increases in steps, and is full after three good seconds of half of them")
    func steps() {
        var audience = Audience(estimates: [900], limited: 1)
        #expect(audience.run(3) == [nil, 900])
        audience.estimates = [300]
        #expect(audience.run(0.5) == [300])
        audience.estimates = [310]
        #expect(audience.run(5) == [300], "a step is at least a tenth")
        audience.estimates = [600]
        #expect(audience.run(2) == [600])
        audience.estimates = [2_400]
        _ = audience.run(2.5)
        #expect(audience.machine.bitrate == .kilobits(2_000))
        #expect(audience.machine.desiredBitrateInFull == .kilobits(2_000))
        _ = audience.run(3)
        #expect(audience.machine.bitrate == nil)
        #expect(audience.machine.desiredBitrateInFull == nil)
    }

    @Test("without viewers there is no limit")
    func nobody() {
        var audience = Audience(estimates: [100], limited: 1)
        _ = audience.run(3)
        #expect(audience.machine.bitrate != nil)
        audience.estimates = []
        audience.limited = 0
        _ = audience.run(4)
        #expect(audience.machine.bitrate == nil)
    }

    @Test("a short decrease of the viewers' bandwidth has no effect")
    func shortDecrease() {
        var audience = Audience(estimates: [100], limited: 0)
        for _ in 0..<20 {
            audience.limited = 1
            #expect(audience.run(0.5) == [nil])
            audience.limited = 0
            #expect(audience.run(2) == [nil])
        }
    }
}
