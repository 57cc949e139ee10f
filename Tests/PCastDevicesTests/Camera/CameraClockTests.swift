import PCastCore
import Testing

@testable import PCastDevices

@Suite("The times and sequence numbers of a camera's frames")
struct CameraClockTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let period = TimeSpan.milliseconds(33)

    @Test("a frame has the driver's time")
    func believed() {
        var clock = CameraClock()
        for index in 0..<100 {
            let stamp = Self.start + Self.period * Int64(index)
            let (time, isRetimed) = clock.time(
                stamp: stamp, capturedAt: stamp + .milliseconds(5), idle: .milliseconds(33))
            #expect(time == stamp && !isRetimed)
        }
    }

    @Test("an old, future or constant time is replaced by the current time")
    func impossible() {
        let cases: [(TimeSpan, Bool)] = [
            (.zero, true), (.seconds(-10), false), (Self.period, true), (.seconds(3_600), false),
            (Self.period * 3, true),
            (Self.period * 3, false), (Self.period * 2, false), (Self.period * 6, true),
        ]
        var clock = CameraClock()
        var last: Instant?
        for (index, (offset, isPossible)) in cases.enumerated() {
            let capturedAt = Self.start + Self.period * Int64(index) + .milliseconds(10)
            let (time, isRetimed) = clock.time(stamp: Self.start + offset, capturedAt: capturedAt, idle: .zero)
            #expect(isRetimed == !isPossible)
            #expect(time <= capturedAt && last.map { time > $0 } ?? true)
            last = time
        }
    }

    @Test("no frame is of the future, and a driver that is slightly ahead is not counted")
    func ahead() {
        var clock = CameraClock()
        for index in 0..<10 {
            let capturedAt = Self.start + Self.period * Int64(index)
            let (time, isRetimed) = clock.time(
                stamp: capturedAt + .milliseconds(30), capturedAt: capturedAt, idle: .zero)
            #expect(time == capturedAt && !isRetimed)
        }
    }

    @Test("frames that waited for the reader keep their age")
    func waited() {
        var clock = CameraClock()
        let stamp = Self.start - .seconds(5)
        #expect(clock.time(stamp: stamp, capturedAt: Self.start, idle: .seconds(6)).time == stamp)
        var other = CameraClock()
        #expect(other.time(stamp: stamp, capturedAt: Self.start, idle: .milliseconds(33)).time == Self.start)
    }

    @Test("without a clock of the driver the current time is used, and not counted")
    func without() {
        var clock = CameraClock()
        let (first, isRetimed) = clock.time(stamp: nil, capturedAt: Self.start, idle: .zero)
        #expect(first == Self.start && !isRetimed)
        // Two frames that are dequeued together have different times.
        #expect(clock.time(stamp: nil, capturedAt: Self.start, idle: .zero).time > first)
    }

    @Test("gaps of the sequence numbers are lost frames; a counter that is reset, does not change or wraps is none")
    func sequence() {
        var sequence = CaptureSequence()
        #expect([5, 6, 7].map { sequence.gap(before: $0) } == [0, 0, 0])
        #expect(sequence.gap(before: 10) == 2 && sequence.gap(before: 11) == 0)
        #expect(sequence.gap(before: 11) == 0 && sequence.gap(before: 3) == 0 && sequence.gap(before: 5_000_000) == 0)
        sequence.restart()
        #expect([.max - 1, .max, 0, 2].map { sequence.gap(before: $0) } == [0, 0, 0, 1])
    }

    @Test("a camera hangs after two silent seconds, and later at the start or at a low rate")
    func silence() {
        func at(_ milliseconds: Int64) -> Instant { Self.start + .milliseconds(milliseconds) }
        var silence = CaptureStallDetector(frameRate: FrameRate(30), at: at(0))
        #expect(!silence.isTooLong(at: at(5_000)) && silence.isTooLong(at: at(5_001)))
        silence.end(at: at(4_000))
        #expect(!silence.isTooLong(at: at(6_000)) && silence.isTooLong(at: at(6_001)))
        silence.restart(at: at(6_001))
        #expect(silence.isRestarted && !silence.isTooLong(at: at(8_000)) && silence.isTooLong(at: at(8_002)))
        silence.end(at: at(7_000))
        #expect(!silence.isRestarted)
        var slow = CaptureStallDetector(frameRate: FrameRate(1, 2), at: at(0))
        slow.end(at: at(0))
        #expect(!slow.isTooLong(at: at(10_000)) && slow.isTooLong(at: at(10_001)))
    }

    @Test("intervals become rates, and impossible ones become none")
    func rates() {
        func rate(_ numerator: UInt32, _ denominator: UInt32) -> FrameRate? {
            FrameRate(interval: numerator, denominator)
        }
        #expect(rate(1, 30) == FrameRate(30) && rate(1_001, 30_000) == FrameRate(30_000, 1_001))
        // uvcvideo's unit is 100 ns.
        #expect(rate(333_333, 10_000_000)?.perSecond.rounded() == 30 && rate(2, 15) == FrameRate(15, 2))
        let none: [(UInt32, UInt32)] = [(0, 30), (1, 0), (0, 0), (1, 1_001), (3_601, 1), (.max, .max), (1, .max)]
        for (numerator, denominator) in none {
            #expect(rate(numerator, denominator) == nil)
        }
        #expect(rate(2_147_483_647, 2_147_483_647) == FrameRate(1))
    }
}
