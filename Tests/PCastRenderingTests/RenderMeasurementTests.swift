import PCastCore
import Testing

@testable import PCastRendering

@Suite("The measurements of a renderer")
struct RenderMeasurementTests {
    private let start = Instant(nanoseconds: 5_000_000_000)
    private let wall = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)

    @Test("percentiles are exact to 0.1 ms, and values above two seconds become the maximum")
    func histogram() {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(0.5) == nil)
        for milliseconds in 1...100 as ClosedRange<Int64> { histogram.add(.milliseconds(milliseconds)) }
        #expect(histogram.percentile(0.5) == .microseconds(50_100))
        #expect(histogram.percentile(0.99) == .microseconds(99_100))
        #expect(histogram.percentile(1) == .microseconds(100_100))
        histogram.add(.seconds(60))
        #expect(histogram.percentile(1) == .seconds(2))
        histogram.removeAll()
        #expect(histogram.count == 0 && histogram.percentile(0.5) == nil)
        var coarse = LatencyHistogram(step: .milliseconds(1), stepCount: 100)
        var other = coarse
        coarse.add(.microseconds(1_500))
        for _ in 0..<3 { other.add(.milliseconds(40)) }
        coarse.add(other)
        #expect(coarse.count == 4 && coarse.percentile(0.25) == .milliseconds(2))
        #expect(coarse.percentile(1) == .milliseconds(41))
    }

    @Test("a freeze is a gap of at least three mean intervals and of the mean plus 150 ms")
    func freezeDefinition() {
        var meter = FreezeMeter()
        var now = start
        for _ in 0..<40 {
            meter.shown(at: now)
            now += .milliseconds(40)
        }
        now += .milliseconds(149)
        meter.shown(at: now)
        #expect(meter.freezeCount == 0)
        for _ in 0..<40 {
            now += .milliseconds(40)
            meter.shown(at: now)
        }
        now += .milliseconds(190)
        meter.shown(at: now)
        #expect(meter.freezeCount == 1)
        #expect(meter.freezeDuration == .milliseconds(190))
    }

    @Test("at 5 frames per second three intervals count")
    func slowFreeze() {
        var meter = FreezeMeter()
        var now = start
        for _ in 0..<10 {
            meter.shown(at: now)
            now += .milliseconds(200)
        }
        now += .milliseconds(399)
        meter.shown(at: now)
        #expect(meter.freezeCount == 0)
        now += .milliseconds(800)
        meter.shown(at: now)
        #expect(meter.freezeCount == 1)
    }

    @Test("latency is from the time strip to the display, for the last second and the whole run")
    func latency() throws {
        var meter = RenderMeter(audioDecoderDelay: .zero)
        for frame in 0..<90 as Range<Int64> {
            let captured = TimeSpan.milliseconds(frame * 33)
            let latency = TimeSpan.milliseconds(frame < 45 ? 80 : 20)
            let stamp = TestPatternStamp(counter: UInt16(frame), captureTime: wall + captured)
            meter.shown(stamp: stamp, at: start + captured + latency, wallTime: wall + captured + latency)
        }
        let last = meter.statistics(lastSecondBefore: start + .milliseconds(2_970))
        #expect(last.latencyP50 == .milliseconds(20))
        #expect(last.framesRendered == 90)
        let whole = meter.statistics(lastSecondBefore: nil)
        #expect(try #require(whole.latencyP99) >= .milliseconds(80))
        #expect(whole.audioVideoSkew == nil)
    }

    @Test("a frame with an unreadable strip is broken if others have a strip, and not otherwise")
    func broken() {
        var meter = RenderMeter(audioDecoderDelay: .zero)
        meter.shown(stamp: nil, at: start, wallTime: wall)
        #expect(meter.statistics(lastSecondBefore: nil).framesBroken == nil)
        meter.shown(stamp: TestPatternStamp(counter: 1, captureTime: wall), at: start, wallTime: wall)
        #expect(meter.statistics(lastSecondBefore: nil).framesBroken == 0)
        meter.shown(stamp: nil, at: start, wallTime: wall)
        #expect(meter.statistics(lastSecondBefore: nil).framesBroken == 1)
    }

    @Test("a strip of another day is ignored")
    func implausible() {
        var meter = RenderMeter(audioDecoderDelay: .zero)
        let stamp = TestPatternStamp(counter: 1, captureTime: wall - .seconds(3_600))
        meter.shown(stamp: stamp, at: start, wallTime: wall)
        #expect(meter.statistics(lastSecondBefore: nil).latencyP50 == nil)
    }

    @Test("the skew is the audio's latency minus the video's, without the decoder's own delay")
    func skew() throws {
        var meter = RenderMeter(audioDecoderDelay: .microseconds(6_500))
        for beat in 0..<200 as Range<Int64> {
            let captured = TimeSpan.milliseconds(beat * 20)
            let stamp = TestPatternStamp(counter: UInt16(beat), captureTime: wall + captured)
            let shown = captured + .milliseconds(30)
            meter.shown(stamp: stamp, at: start + shown, wallTime: wall + shown)
            let samples = (0..<960).map { sample -> Int16 in
                let index = Int(beat) * 960 + sample - 312
                return index >= 0 && index % 48_000 < 4_800 ? (index % 48 < 24 ? 8_000 : -8_000) : 0
            }
            let frame = AudioFrame(
                samples: samples, channels: 1, captureTime: nil, timestamp: MediaTime(ticks: beat * 960, rate: .opus))
            let played = captured + .milliseconds(45)
            meter.played(frame, at: start + played, wallTime: wall + played)
        }
        let skew = try #require(meter.statistics(lastSecondBefore: nil).audioVideoSkew)
        #expect(abs(skew.milliseconds - 15) < 1)
    }
}
