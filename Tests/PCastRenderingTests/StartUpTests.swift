import PCastCore
import Testing

@testable import PCastRendering

/// A viewer that joins, on virtual time: a decoder, the selection of the frames to present, and lip sync.
private struct JoiningViewer {
    /// A coded frame: when it was captured and received, in milliseconds after the first was received.
    struct Received {
        var captured: Double
        var received: Double
    }

    static let origin = Instant(nanoseconds: 9_000_000_000)
    static let wallOrigin = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)
    static let interval = 1_000.0 / 30

    private(set) var presented: [(captured: Double, at: Double)] = []
    private(set) var skipped = 0

    /// Returns the frames that the platform sends to a viewer that joins `age` milliseconds after a key frame: all
    /// frames since in a burst, and then each as it arrives. If `newerKeyFrame` is set, only the key frame and all
    /// frames from a newer one on are sent.
    static func replay(age: Double, newerKeyFrame: Double?, for length: Double) -> [Received] {
        var frames: [Received] = []
        var captured = -age
        while captured < length {
            let live = captured + 8
            if captured == -age {
                frames.append(Received(captured: captured, received: 0))
            } else if live > (newerKeyFrame ?? -.infinity) {
                frames.append(Received(captured: captured, received: max(live, frames.last!.received + 0.1)))
            }
            captured += interval
        }
        return frames
    }

    init(_ frames: [Received], decoding: Double) {
        var (catchUp, synchronizer) = (CatchUp(), MediaSynchronizer(mode: .lipSync))
        var (now, audioCaptured) = (0.0, 0.0)
        for (index, frame) in frames.enumerated() {
            now = max(now, frame.received) + decoding
            // Audio starts at the live edge.
            while audioCaptured + 20 < now {
                _ = synchronizer.scheduleAudio(
                    captureTime: Self.wallOrigin + Self.span(audioCaptured),
                    timestamp: MediaTime(ticks: ClockRate.opus.ticks(in: Self.span(audioCaptured)), rate: .opus),
                    at: Self.origin + Self.span(audioCaptured + 20))
                audioCaptured += 20
            }
            let instant = Self.origin + Self.span(now)
            let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: Self.span(frame.captured)), rate: .video)
            let hasNewer = index + 1 < frames.count && frames[index + 1].received <= now
            switch catchUp.decoded(timestamp: timestamp, hasNewer: hasNewer, at: instant) {
            case .begin: presented.append((frame.captured, now))
            case .skip: skipped += 1
            case .present:
                let decision = synchronizer.scheduleFrame(
                    captureTime: Self.wallOrigin + Self.span(frame.captured), timestamp: timestamp, at: instant)
                guard case .present(let due) = decision else { continue }
                presented.append((frame.captured, (max(due, instant) - Self.origin).milliseconds))
            }
        }
    }

    private static func span(_ milliseconds: Double) -> TimeSpan { .nanoseconds(Int64(milliseconds * 1_000_000)) }

    /// Returns the milliseconds from the first frame to the live edge.
    func timeToLiveEdge() throws -> Double {
        let lags = presented.map { $0.at - $0.captured }
        let first = presented[0].at
        let later = zip(presented, lags).filter { $0.0.at - first >= 1_000 }.map(\.1).sorted()
        let median = try #require(later.isEmpty ? nil : later[later.count / 2])
        let edge = try #require(lags.firstIndex { $0 <= median + Self.interval })
        return presented[edge].at - first
    }
}

@Suite("The start-up of a viewer on virtual time")
struct StartUpTests {
    @Test(
        "a viewer that receives up to two seconds of old frames is at the live edge within 150 ms",
        arguments: [500, 1_000, 1_500, 2_000] as [Double], [0.5, 1, 2] as [Double])
    func replay(age: Double, decoding: Double) throws {
        let viewer = JoiningViewer(
            JoiningViewer.replay(age: age, newerKeyFrame: nil, for: 4_000), decoding: decoding)
        #expect(viewer.presented[0].at == decoding, "the first frame is presented at once")
        #expect(try viewer.timeToLiveEdge() <= 150)
        #expect(viewer.skipped >= Int(age / JoiningViewer.interval) - 2)
        #expect(viewer.presented.count { $0.captured < -50 } <= 2, "old frames are not presented")
    }

    @Test(
        "a viewer that receives a newer key frame is at the live edge with it",
        arguments: [600, 1_000, 2_000] as [Double])
    func newerKeyFrame(age: Double) throws {
        let viewer = JoiningViewer(
            JoiningViewer.replay(age: age, newerKeyFrame: 45, for: 4_000), decoding: 3)
        #expect(try viewer.timeToLiveEdge() <= 90)
        #expect(viewer.skipped == 0 && viewer.presented.count { $0.captured < 0 } == 1)
    }

    @Test("a viewer that joins at a new key frame presents every frame")
    func fresh() throws {
        let viewer = JoiningViewer(
            JoiningViewer.replay(age: 5, newerKeyFrame: nil, for: 4_000), decoding: 3)
        #expect(viewer.skipped == 0)
        #expect(try viewer.timeToLiveEdge() == 0)
    }

    @Test("a decoder that is too slow to catch up presents what it has after half a second")
    func slowDecoder() {
        let viewer = JoiningViewer(
            JoiningViewer.replay(age: 2_000, newerKeyFrame: nil, for: 4_000), decoding: 20)
        #expect(viewer.presented[1].at <= 550)
        #expect(viewer.skipped <= 30)
    }

    @Test("when the catch-up is over, frames that arrive in a burst are all presented")
    func later() {
        var catchUp = CatchUp()
        let start = Instant(nanoseconds: 5_000_000_000)
        func decode(_ number: Int64, after milliseconds: Int64, hasNewer: Bool) -> CatchUp.Decision {
            catchUp.decoded(
                timestamp: MediaTime(ticks: number * 3_000, rate: .video), hasNewer: hasNewer,
                at: start + .milliseconds(milliseconds))
        }
        #expect(decode(0, after: 0, hasNewer: false) == .begin)
        #expect(decode(1, after: 33, hasNewer: false) == .present)
        #expect(decode(2, after: 160, hasNewer: true) == .present)
        #expect(decode(3, after: 161, hasNewer: true) == .present)
    }

    @Test("the start-up phase is measured apart, by timestamps, and with a test pattern by its latency")
    func meter() throws {
        var meter = RenderMeter(audioDecoderDelay: .zero)
        let start = Instant(nanoseconds: 5_000_000_000)
        let wall = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)
        // There are five old frames within 100 ms, and then a lag of 20 ms.
        func show(captured: Int64, after milliseconds: Int64) {
            let stamp = TestPatternStamp(counter: 1, captureTime: wall + .milliseconds(captured))
            meter.shown(
                timestamp: MediaTime(ticks: captured * 90, rate: .video), stamp: stamp,
                at: start + .milliseconds(milliseconds), wallTime: wall + .milliseconds(milliseconds))
        }
        for number in 0..<5 as Range<Int64> { show(captured: -1_000 + number * 33, after: number * 25) }
        #expect(meter.statistics(lastSecondBefore: nil).timeToLiveEdge == nil)
        for number in 0..<200 as Range<Int64> { show(captured: 105 + number * 33, after: 125 + number * 33) }
        let summary = meter.statistics(lastSecondBefore: nil)
        #expect(summary.timeToLiveEdge == .milliseconds(125))
        #expect(summary.startUpFramesRendered == 5)
        #expect(summary.startUpLatencyMaximum == .milliseconds(1_000))
        #expect(summary.latencyP99 == .microseconds(984_100), "the whole run contains all of them")
        #expect(summary.steadyLatencyP50 == .microseconds(20_100) && summary.steadyLatencyP99 == .microseconds(20_100))
        #expect(
            meter.statistics(lastSecondBefore: start).timeToLiveEdge == nil, "the last second has none")
    }

    @Test("a lag that stays is no start-up, and one frame interval more than the median is the live edge")
    func meterBounds() {
        var meter = StartUpMeter()
        let start = Instant(nanoseconds: 5_000_000_000)
        for number in 0..<100 as Range<Int64> {
            let lag: Int64 = number < 3 ? 90 : 60
            meter.shown(
                timestamp: MediaTime(ticks: number * 33 * 90, rate: .video), latency: nil,
                at: start + .milliseconds(number * 33 + lag))
        }
        #expect(meter.result?.timeToLiveEdge == .zero && meter.result?.framesRendered == 0)
    }
}
