import PCastCore
import PCastIO
import PCastTestSupport
import Testing

@Suite("The clock of an audio device according to its driver")
struct SampleClockTests {
    private let start = Instant(nanoseconds: 7_000_000_000)

    /// A device with a clock that is off by `drift` millionths. Its driver reports its position every 10 ms, up to
    /// `jitter` late.
    private struct Device {
        let rate: Double
        let drift: Double
        let jitter: TimeSpan
        let start: Instant
        var generator: SeededGenerator

        func truth(_ instant: Instant) -> Double { (instant - start).seconds * rate * (1 + drift * 1e-6) }

        mutating func notify(_ clock: inout SampleClock, from: Int64, to: Int64) {
            for step in from..<to {
                let moment = start + .milliseconds(10 * step)
                let late = TimeSpan.nanoseconds(Int64.random(in: 0...jitter.nanoseconds, using: &generator))
                clock.observe(position: Int64(truth(moment)), at: moment + late)
            }
        }
    }

    @Test(
        "a deviating crystal is measured, and jitter is averaged",
        arguments: [-200.0, -37, 0, 200], [1, 2, 3] as [UInt64])
    func drift(_ drift: Double, _ seed: UInt64) throws {
        let jitter = TimeSpan.milliseconds(4)
        var device = Device(
            rate: 44_100, drift: drift, jitter: jitter, start: start, generator: SeededGenerator(seed: seed))
        var clock = SampleClock(rate: 44_100)
        device.notify(&clock, from: 0, to: 1_000)
        for step in 1_000..<6_000 as Range<Int64> {
            device.notify(&clock, from: step, to: step + 1)
            let moment = start + .milliseconds(10 * step)
            let received = try #require(clock.instant(of: device.truth(moment)))
            // The driver's reports contain half of the jitter on average.
            let error = received - moment - jitter / 2
            #expect(error.magnitude < .microseconds(600), "off by \(error) after \(step * 10) ms")
        }
        #expect(abs(clock.drift - drift) < 15, "measured \(clock.drift)")
    }

    @Test("within the first second the clock is accurate to a millisecond or two")
    func beginning() throws {
        var device = Device(
            rate: 48_000, drift: 200, jitter: .milliseconds(2), start: start, generator: SeededGenerator(seed: 9))
        var clock = SampleClock(rate: 48_000)
        for step in 0..<100 as Range<Int64> {
            device.notify(&clock, from: step, to: step + 1)
            let moment = start + .milliseconds(10 * step)
            let error = try #require(clock.instant(of: device.truth(moment))) - moment
            #expect(error.magnitude <= .milliseconds(2))
        }
    }

    @Test("instants and positions are inverse")
    func inverse() throws {
        var device = Device(
            rate: 48_000, drift: -150, jitter: .milliseconds(1), start: start, generator: SeededGenerator(seed: 4))
        var clock = SampleClock(rate: 48_000)
        #expect(!clock.isRunning && clock.instant(of: 0) == nil && clock.position(at: start) == nil)
        device.notify(&clock, from: 0, to: 500)
        for position in stride(from: -10_000.0, through: 300_000, by: 7_919.5) {
            let instant = try #require(clock.instant(of: position))
            let back = try #require(clock.position(at: instant))
            #expect(abs(back - position) < 0.001)
        }
    }

    @Test("a time that deviates much is rejected at first, and accepted if it persists")
    func jump() throws {
        var device = Device(rate: 48_000, drift: 20, jitter: .zero, start: start, generator: SeededGenerator(seed: 1))
        var clock = SampleClock(rate: 48_000)
        device.notify(&clock, from: 0, to: 300)
        let before = try #require(clock.instant(of: 144_000))
        #expect(clock.observe(position: 144_000, at: start + .seconds(9)) == .outlier)
        #expect(try #require(clock.instant(of: 144_000)) == before)
        device.notify(&clock, from: 301, to: 310)
        // From here on 70 ms of samples are missing.
        var verdicts: [SampleClock.Decision] = []
        for step in 0..<20 as Range<Int64> {
            let moment = start + .milliseconds(3_100 + 10 * step)
            verdicts.append(clock.observe(position: Int64(device.truth(moment)) - 3_360, at: moment))
        }
        #expect(verdicts.prefix(7).allSatisfy { $0 == .outlier } && verdicts[7] == .jumped)
        #expect(verdicts[8...].allSatisfy { $0 == .followed })
        let moment = start + .milliseconds(3_290)
        let error = try #require(clock.instant(of: device.truth(moment) - 3_360)) - moment
        #expect(error.magnitude < .microseconds(100))
    }

    @Test("a restarted device keeps its measured crystal")
    func restart() throws {
        var device = Device(rate: 48_000, drift: 120, jitter: .zero, start: start, generator: SeededGenerator(seed: 1))
        var clock = SampleClock(rate: 48_000)
        device.notify(&clock, from: 0, to: 3_000)
        clock.restart()
        #expect(!clock.isRunning)
        clock.observe(position: 0, at: start + .seconds(60))
        #expect(abs(clock.drift - 120) < 5)
        let after = try #require(clock.instant(of: 480_000)) - (start + .seconds(60))
        #expect((after - TimeSpan(seconds: 10 / 1.00012)).magnitude < .microseconds(60))
    }
}
