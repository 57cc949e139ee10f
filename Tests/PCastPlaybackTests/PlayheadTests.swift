import PCastCore
import PCastHLS
import PCastPlayback
import PCastTestSupport
import Testing

private func seconds(_ seconds: Double) -> TimeSpan { TimeSpan(seconds: seconds) }
private func seconds(_ seconds: Double) -> Duration { TimeSpan(seconds: seconds).duration }
private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 5_000_000_000) + TimeSpan(seconds: seconds) }
private func wall(_ seconds: Double) -> WallTime {
    WallTime(millisecondsSinceEpoch: 1_767_225_600_000) + TimeSpan(seconds: seconds)
}

@Suite("The playhead")
struct PlayheadTests {
    private func playing(from position: Double = 0, available: Double? = nil) -> PlayheadClock {
        var clock = PlayheadClock(at: at(0))
        let epoch = clock.begin(at: seconds(position), now: at(0))
        clock.play(at: at(0))
        clock.show(seconds(position), of: epoch, available: available.map(seconds), at: at(0))
        return clock
    }

    /// Returns whether the position is known.
    private func seek(_ clock: inout PlayheadClock, to time: WallTime, at now: Instant) -> Bool {
        clock.seek(to: time, at: now) != nil
    }

    private func show(_ clock: inout PlayheadClock, _ position: Double, of epoch: PlayheadEpoch, at now: Instant)
        -> Bool
    {
        clock.show(seconds(position), of: epoch, at: now)
    }

    @Test("the playhead starts with the first frame, advances with time, and stops at a pause")
    func moves() {
        var clock = PlayheadClock(at: at(0))
        let epoch = clock.begin(now: at(0))
        clock.play(at: at(0))
        #expect(clock.playhead(at: at(3)).position == .zero && clock.playhead(at: at(3)).rate == 0)
        clock.show(.zero, of: epoch, at: at(3))
        #expect(clock.playhead(at: at(4.5)).position == seconds(1.5) && clock.playhead(at: at(4.5)).rate == 1)
        clock.pause(at: at(5))
        #expect(clock.playhead(at: at(9)).position == seconds(2) && clock.playhead(at: at(9)).rate == 0)
        clock.play(at: at(10))
        #expect(clock.playhead(at: at(11)).position == seconds(3))
    }

    @Test(
        "a rate is kept over a pause, and is between a quarter and four",
        arguments: [(2.0, 2.0), (0, 1), (-3, 1), (9, 4), (0.1, 0.25), (.nan, 1)])
    func rates(asked: Double, expected: Double) {
        var clock = playing()
        clock.setRate(asked, at: at(1))
        clock.pause(at: at(2))
        clock.play(at: at(3))
        #expect(clock.playhead(at: at(5)).position == seconds(1 + 3 * expected))
        #expect(clock.playhead(at: at(5)).rate == expected)
    }

    @Test("the playhead does not exceed the available media, and a late frame does not turn it back")
    func bounds() {
        var clock = playing(available: 2)
        #expect(clock.playhead(at: at(5)).position == seconds(2))
        clock.setBuffering(true, of: clock.epoch, at: at(5))
        #expect(clock.playhead(at: at(6)).position == seconds(2) && clock.playhead(at: at(6)).rate == 0)
        clock.show(seconds(2), of: clock.epoch, available: seconds(10), at: at(7))
        #expect(clock.playhead(at: at(8)).position == seconds(3))
        clock.show(seconds(2.98), of: clock.epoch, available: seconds(10), at: at(8))
        #expect(clock.playhead(at: at(8)).position == seconds(3))
    }

    @Test("a seek stays at its target until its frame arrives, and events of earlier epochs have no effect")
    func seeking() {
        var clock = playing()
        let before = clock.epoch
        clock.setSeekableRange(seconds(0)...seconds(60), of: before)
        let first = clock.seek(to: seconds(30), at: at(1))
        let second = clock.seek(to: seconds(500), at: at(1.1))
        #expect(before < first && first < second)
        #expect(clock.playhead(at: at(4)).position == seconds(60) && clock.playhead(at: at(4)).isSeeking)
        // These are frames from before, and of the superseded seek.
        #expect(!show(&clock, 1.2, of: before, at: at(2)))
        #expect(!show(&clock, 30, of: first, at: at(2)))
        clock.setBuffering(true, of: first, at: at(2))
        #expect(clock.playhead(at: at(4)).position == seconds(60) && clock.playhead(at: at(4)).isSeeking)
        // The seek completes at the key frame before its target.
        #expect(show(&clock, 58, of: second, at: at(5)))
        #expect(clock.playhead(at: at(6)).position == seconds(59) && !clock.playhead(at: at(6)).isSeeking)
        #expect(clock.playhead(at: at(6)).rate == 1)
    }

    @Test("a moving window does not change the position, and is reported")
    func eviction() {
        var clock = playing()
        clock.pause(at: at(1))
        clock.setSeekableRange(seconds(0)...seconds(60), of: clock.epoch)
        #expect(!clock.playhead(at: at(2)).isEvicted)
        clock.setSeekableRange(seconds(40)...seconds(100), of: clock.epoch)
        #expect(clock.playhead(at: at(2)).isEvicted && clock.playhead(at: at(2)).position == seconds(1))
        _ = clock.seek(to: seconds(1), at: at(3))
        #expect(!clock.playhead(at: at(3)).isEvicted && clock.playhead(at: at(3)).position == seconds(40))
    }

    @Test("another item begins without the state of the one before")
    func items() {
        var clock = playing()
        let old = clock.epoch
        clock.setSeekableRange(seconds(0)...seconds(60), of: old)
        clock.anchor(old) { $0.add(TimecodeAnchor(position: .zero, wallTime: wall(0), source: .programDateTime)) }
        #expect(clock.playhead(at: at(1)).timecode == wall(1))
        _ = clock.begin(now: at(2))
        clock.setSeekableRange(seconds(0)...seconds(60), of: old)
        clock.anchor(old) { $0.add(TimecodeAnchor(position: .zero, wallTime: wall(0), source: .programDateTime)) }
        let playhead = clock.playhead(at: at(3))
        #expect(playhead.position == .zero && playhead.timecode == nil && playhead.seekableRange == nil)
        #expect(playhead.timecodeRange == nil && playhead.rate == 0)
    }

    @Test("the timecode is that of the stream at the position, and a seek by it shows its frame")
    func timecodes() {
        var clock = playing(from: 20)
        #expect(!seek(&clock, to: wall(110), at: at(0)))
        clock.setSeekableRange(seconds(10)...seconds(40), of: clock.epoch)
        #expect(!seek(&clock, to: wall(110), at: at(0)))
        clock.anchor(clock.epoch) {
            $0.add(TimecodeAnchor(position: seconds(0), wallTime: wall(100), source: .capture))
        }
        let playhead = clock.playhead(at: at(2))
        #expect(playhead.timecode == wall(122) && playhead.timecodeRange == wall(110)...wall(140))
        #expect(seek(&clock, to: wall(131.5), at: at(2)))
        #expect(clock.playhead(at: at(3)).position == seconds(31.5))
        #expect(seek(&clock, to: wall(0), at: at(3)))
        #expect(clock.playhead(at: at(3)).position == seconds(10))
    }

    @Test("the position never goes back during playback, whenever frames are shown", arguments: UInt64(1)...20)
    func monotonic(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var clock = playing(available: 1)
        var (time, last) = (0.0, TimeSpan.zero)
        for _ in 0..<500 {
            time += Double.random(in: 0...0.2, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: clock.pause(at: at(time))
            case 1: clock.play(at: at(time))
            case 2: clock.setRate(Double.random(in: 0...5, using: &generator), at: at(time))
            case 3: clock.setBuffering(Bool.random(using: &generator), of: clock.epoch, at: at(time))
            default:
                let position = last + seconds(Double.random(in: -0.1...0.1, using: &generator))
                clock.show(position, of: clock.epoch, available: position + seconds(0.3), at: at(time))
            }
            let position = TimeSpan(clock.playhead(at: at(time)).position)
            #expect(position >= last)
            last = position
        }
        #expect(last > .zero)
    }
}

@Suite("Timecodes by anchors")
struct TimecodeAnchorsTests {
    private let range: ClosedRange<TimeSpan> = seconds(0)...seconds(1_000)

    private func anchors(_ list: [(Double, Double, TimecodeAnchor.Source, Int64)]) -> TimecodeAnchors {
        var anchors = TimecodeAnchors()
        for (position, time, source, run) in list {
            anchors.add(TimecodeAnchor(position: seconds(position), wallTime: wall(time), source: source, run: run))
        }
        return anchors
    }

    @Test("time is interpolated between two anchors, and extrapolated outside of them")
    func interpolation() {
        let anchors = anchors([(110, 1_010.1, .capture, 0), (10, 910, .capture, 0)])
        #expect(anchors.wallTime(at: seconds(60)) == wall(960.05))
        #expect(anchors.wallTime(at: seconds(0)) == wall(900) && anchors.wallTime(at: seconds(120)) == wall(1_020.1))
        #expect(anchors.position(of: wall(960.05), in: range) == seconds(60))
        #expect(anchors.position(of: wall(1_020.1), in: range) == seconds(120))
        #expect(anchors.position(of: wall(905), in: range) == seconds(5))
        #expect(anchors.position(of: wall(0), in: range) == seconds(0))
        #expect(anchors.position(of: wall(9_999), in: range) == seconds(1_000))
        #expect(TimecodeAnchors().wallTime(at: .zero) == nil)
        #expect(TimecodeAnchors().position(of: wall(0), in: range) == nil)
    }

    @Test("at a jump of the clock the earlier anchor applies up to the next one", arguments: [Int64(0), 1])
    func jumps(run: Int64) {
        let anchors = anchors([(0, 0, .programDateTime, 0), (10, 100, .programDateTime, run)])
        #expect(anchors.wallTime(at: seconds(9)) == wall(9) && anchors.wallTime(at: seconds(10)) == wall(100))
        #expect(anchors.position(of: wall(9), in: range) == seconds(9))
        // There is no frame from that time, so the next one is used.
        #expect(anchors.position(of: wall(50), in: range) == seconds(10))
        #expect(anchors.position(of: wall(105), in: range) == seconds(15))
    }

    @Test("the most trusted source applies, and the latest anchor at a position")
    func sources() {
        var anchors = anchors([(0, 50, .programDateTime, 0), (0, 10, .file, 0)])
        #expect(anchors.wallTime(at: .zero) == wall(50))
        anchors.add(TimecodeAnchor(position: seconds(4), wallTime: wall(74), source: .timedMetadata))
        #expect(anchors.wallTime(at: .zero) == wall(70))
        anchors.add(TimecodeAnchor(position: seconds(4), wallTime: wall(75), source: .timedMetadata))
        #expect(anchors.wallTime(at: .zero) == wall(71))
    }

    @Test("a playlist's dates are used, and updated with each reload")
    func playlist() throws {
        func playlist(_ date: String) throws -> MediaPlaylist {
            try MediaPlaylist(
                """
                #EXTM3U
                #EXT-X-TARGETDURATION:4
                #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:\(date)Z
                #EXTINF:4,
                0.ts
                #EXT-X-DISCONTINUITY
                #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:10:00Z
                #EXTINF:4,
                1.ts
                """)
        }
        var anchors = TimecodeAnchors()
        anchors.replace(by: PlaylistTimeline(try playlist("01:00")))
        #expect(anchors.wallTime(at: seconds(3.5)) == wall(63.5) && anchors.wallTime(at: seconds(5)) == wall(601))
        anchors.replace(by: PlaylistTimeline(try playlist("02:00")))
        #expect(anchors.wallTime(at: seconds(3.5)) == wall(123.5))
        #expect(anchors.position(of: wall(300), in: range) == seconds(4))
    }

    @Test("the number of anchors is bounded, and extreme ones are ignored")
    func bounds() {
        var anchors = TimecodeAnchors()
        anchors.add(
            TimecodeAnchor(position: .zero, wallTime: WallTime(nanosecondsSinceEpoch: .max), source: .capture))
        anchors.add(TimecodeAnchor(position: TimeSpan(nanoseconds: .min), wallTime: wall(0), source: .capture))
        #expect(anchors.isEmpty)
        for index in 0...TimecodeAnchors.capacity {
            anchors.add(
                TimecodeAnchor(position: seconds(Double(index)), wallTime: wall(Double(2 * index)), source: .file))
        }
        // The first anchor is removed. Before the second one time is extrapolated.
        #expect(anchors.wallTime(at: .zero) == wall(1))
        for extreme in [Int64.min, .max] {
            _ = anchors.position(of: WallTime(nanosecondsSinceEpoch: extreme), in: range)
            #expect(anchors.wallTime(at: TimeSpan(nanoseconds: extreme)) == nil)
        }
    }

    @Test("no calculation overflows with the earliest times and the smallest slope", arguments: [Int64(61), 62])
    func extremes(power: Int64) {
        let (first, last) = (-(Int64(1) << power), Int64(1) << 62)
        var anchors = TimecodeAnchors()
        for index in 0..<2 {
            let wallTime = WallTime(nanosecondsSinceEpoch: first) + .seconds(Int64(9 * index))
            anchors.add(
                TimecodeAnchor(position: .seconds(Int64(10 * index)), wallTime: wallTime, source: .programDateTime))
        }
        // An anchor before 1897 is ignored.
        #expect(anchors.isEmpty == (power == 62))
        let (beginning, end) = (TimeSpan(nanoseconds: -(1 << 60)), TimeSpan(nanoseconds: 1 << 60))
        for time in [first, last] {
            let position = anchors.position(of: WallTime(nanosecondsSinceEpoch: time), in: beginning...end)
            let expected = time == first ? TimeSpan.zero : end
            #expect(position == (anchors.isEmpty ? nil : expected))
        }
        for position in [beginning, end] { #expect((anchors.wallTime(at: position) == nil) == anchors.isEmpty) }
        // The same holds for a time before the first anchor, and for a position after the last one.
        var late = TimecodeAnchors()
        late.add(TimecodeAnchor(position: end, wallTime: WallTime(nanosecondsSinceEpoch: last), source: .capture))
        let earliest = WallTime(nanosecondsSinceEpoch: -(1 << 61))
        #expect(late.position(of: earliest, in: beginning...end) == beginning)
        #expect(late.wallTime(at: beginning) == WallTime(nanosecondsSinceEpoch: last) - (end - beginning))
    }
}
