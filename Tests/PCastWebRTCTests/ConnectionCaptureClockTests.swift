import PCastCore
import PCastWebRTC
import Testing

struct ConnectionCaptureClockTests {
    @Test("timestamps on both sides of the wrap at 2^32 are related by the shorter distance")
    func wrap() {
        let time = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        let clock = CaptureClock(timestamp: 0 &- 45_000, wallTime: time, rate: .video)
        #expect(clock.wallTime(of: 0 &- 45_000) == time)
        #expect(clock.wallTime(of: 45_000) == time + .seconds(1 as Int64))
        #expect(clock.wallTime(of: 0 &- 135_000) == time - .seconds(1 as Int64))
    }

    @Test("audio has 48,000 ticks per second")
    func audio() {
        let time = WallTime(millisecondsSinceEpoch: 1000)
        let clock = CaptureClock(timestamp: 0, wallTime: time, rate: .opus)
        #expect(clock.wallTime(of: 960) == time + .milliseconds(20))
    }
}
