import PCastCore
import Testing

@testable import PCastPlayback

extension VirtualPlayback {
    /// The time of capture of position zero, and the wall-clock time at the origin of virtual time.
    private static let captured = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)

    /// The age of the live edge, and its distance from the end of the seekable range.
    private static let (edgeAge, holdBack) = (TimeSpan.milliseconds(200), TimeSpan.milliseconds(800))

    /// The media of position zero are captured at `origin`.
    fileprivate init(_ media: StampedMedia, delay: TimeSpan?, lead: TimeSpan, joiningAfter time: TimeSpan) {
        self.init(media, lead: lead)
        now = Self.origin + time
        presentation = MediaPresentation(at: now)
        presentation.audioOutputLatency = lead
        presentation.wallClockOrigin = Self.captured - (Self.origin - Instant(nanoseconds: 0))
        (overview.kind, overview.duration) = (.live, nil)
        (overview.isLowLatency, overview.liveEdge, overview.startsAtLiveEdge) = (true, Self.holdBack, true)
        overview.playoutDelay = delay
        overview.anchors = [TimecodeAnchor(position: .zero, wallTime: Self.captured, source: .programDateTime)]
        moveWindow()
        gate = now - Self.origin - Self.edgeAge
    }

    private mutating func moveWindow() {
        let edge = max(now - Self.origin - Self.edgeAge, .zero)
        overview.seekableRange = .zero...max(edge - Self.holdBack, .zero)
    }

    /// Runs while the live edge advances by parts of 100 ms. During an outage the edge does not advance.
    fileprivate mutating func runLive(for span: TimeSpan, outage: Bool = false) {
        let end = now + span
        while now < end {
            run(for: min(.milliseconds(100), end - now))
            if outage { continue }
            gate = now - Self.origin - Self.edgeAge
            moveWindow()
            if presentation.isOpen { presentation.set(overview) }
        }
    }

    /// The time from the capture of the current frame until now.
    fileprivate var age: TimeSpan { now - Self.origin - TimeSpan(presentation.clock.playhead(at: now).position) }

    /// The ages of the frames that were shown after an instant.
    fileprivate func ages(after instant: Instant) -> [TimeSpan] {
        shown.filter { $0.at > instant }.map { $0.at - Self.origin - media.position(ofFrame: Int64($0.number)) }
    }
}

@Suite("Synchronized playout on virtual time")
struct SynchronizedPlayoutTests {
    private static let media = StampedMedia(duration: .seconds(120))

    @Test(
        "players that begin at different times show the same frame at the same time",
        arguments: [TimeSpan.milliseconds(1_500), .seconds(3), .seconds(8)])
    func players(delay: TimeSpan) throws {
        let beginnings: [(time: Int64, lead: Int64)] = [(20_000, 0), (23_700, 40), (31_210, 200)]
        var stages = beginnings.map { beginning in
            VirtualPlayback(
                Self.media, delay: delay, lead: .milliseconds(beginning.lead),
                joiningAfter: .milliseconds(beginning.time))
        }
        let end = VirtualPlayback.origin + .seconds(60)
        for index in stages.indices {
            stages[index].presentation.play(at: stages[index].now)
            stages[index].runLive(for: end - stages[index].now)
            let ages = stages[index].ages(after: VirtualPlayback.origin + .seconds(50))
            #expect(ages.count > 250)
            // A frame is shown at its time, or just after it.
            #expect(ages.allSatisfy { ($0 - delay).magnitude <= .milliseconds(25) }, "\(ages.min()!) to \(ages.max()!)")
            #expect(stages[index].presentation.clock.playbackRate == 1)
        }
        let positions = stages.map { TimeSpan($0.presentation.clock.playhead(at: end).position) }
        #expect(positions.max()! - positions.min()! <= .milliseconds(50), "\(positions)")
    }

    @Test("the first frame is shown at once, and playback waits until it is due")
    func wait() throws {
        var stage = VirtualPlayback(Self.media, delay: .seconds(5), lead: .milliseconds(40), joiningAfter: .seconds(3))
        stage.presentation.play(at: stage.now)
        let began = stage.now
        stage.runLive(for: .seconds(1))
        // The oldest media was captured three seconds ago.
        #expect(stage.shown.map(\.number) == [0])
        stage.runLive(for: .seconds(4))
        let second = try #require(stage.shown.dropFirst().first)
        let due = began + .seconds(2) + stage.media.position(ofFrame: 1)
        #expect((second.at - due).magnitude <= .milliseconds(5), "\(second.at - due)")
        #expect(stage.presentation.statistics.stalls == 0 && stage.seeks.isEmpty)
        // The audio has the same delay.
        let audio = try #require(stage.heard.first)
        #expect((audio.at - (began + .seconds(2))).magnitude <= .milliseconds(5), "\(audio.at - began)")
    }

    @Test(
        "after a short stall playback is synchronized by a higher rate, and after a long one by a seek",
        arguments: [0.6, 4])
    func stall(seconds: Double) {
        let delay = TimeSpan.milliseconds(1_500)
        var stage = VirtualPlayback(Self.media, delay: delay, lead: .milliseconds(40), joiningAfter: .seconds(10))
        stage.presentation.play(at: stage.now)
        stage.runLive(for: .seconds(20))
        #expect((stage.age - delay).magnitude <= .milliseconds(25), "\(stage.age)")
        let seeks = stage.seeks.count
        stage.runLive(for: .milliseconds(1_300) + TimeSpan(seconds: seconds), outage: true)
        #expect(stage.presentation.statistics.stalls == 1)
        stage.runLive(for: .milliseconds(300))
        let rate = stage.presentation.clock.playbackRate
        #expect(seconds < 1 ? rate == 1 + SynchronizedPlayout.rateChange : stage.seeks.count == seeks + 1)
        stage.runLive(for: .seconds(25))
        #expect((stage.age - delay).magnitude <= .milliseconds(25), "\(stage.age)")
        #expect(stage.presentation.clock.playbackRate == 1)
    }

    @Test("a delay below the default distance from the live edge has no effect")
    func unreachable() {
        let ages = [TimeSpan.milliseconds(300), nil].map { delay in
            var stage = VirtualPlayback(
                Self.media, delay: delay, lead: .milliseconds(40), joiningAfter: .seconds(10))
            stage.presentation.play(at: stage.now)
            stage.runLive(for: .seconds(40))
            #expect(stage.presentation.clock.playbackRate == 1 && stage.presentation.statistics.stalls == 0)
            return stage.age
        }
        // Playback is at the default distance, as without a delay.
        #expect(ages.allSatisfy { $0 > .milliseconds(700) && $0 < .milliseconds(1_300) }, "\(ages)")
    }

    @Test("a seek back and a long pause end the synchronization, and a seek to the end begins it again")
    func user() {
        let delay = TimeSpan.seconds(3 as Int64)
        var stage = VirtualPlayback(Self.media, delay: delay, lead: .milliseconds(40), joiningAfter: .seconds(30))
        stage.presentation.play(at: stage.now)
        stage.runLive(for: .seconds(10))
        _ = stage.presentation.seek(to: .seconds(5), at: stage.now)
        stage.runLive(for: .seconds(10))
        #expect(stage.age > .seconds(30), "\(stage.age)")
        let end = stage.presentation.clock.seekableRange!.upperBound
        _ = stage.presentation.seek(to: end, at: stage.now)
        stage.runLive(for: .seconds(10))
        #expect((stage.age - delay).magnitude <= .milliseconds(25), "\(stage.age)")
        stage.presentation.pause(at: stage.now)
        stage.runLive(for: .seconds(5))
        stage.presentation.play(at: stage.now)
        stage.runLive(for: .seconds(10))
        #expect(stage.age > delay + .seconds(4), "\(stage.age)")
    }

    @Test("media from the future, by a clock that disagrees, is not waited for")
    func wrongClock() {
        var stage = VirtualPlayback(
            Self.media, delay: .seconds(2), lead: .milliseconds(40), joiningAfter: .seconds(10))
        stage.presentation.wallClockOrigin = stage.presentation.wallClockOrigin! - .seconds(60 as Int64)
        stage.presentation.play(at: stage.now)
        stage.runLive(for: .seconds(10))
        #expect(stage.shown.count > 200 && stage.age < .seconds(2), "\(stage.age)")
    }

    @Test("stalls that recur leave playback late for some time")
    func recurringStalls() {
        var playout = SynchronizedPlayout()
        playout.begin(isActive: true)
        func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        let late = TimeSpan.milliseconds(300)
        playout.noteStall(at: instant(0))
        #expect(
            playout.step(late: late, canJump: true, at: instant(1)) == .play(rate: 1 + SynchronizedPlayout.rateChange))
        playout.interrupt()
        playout.noteStall(at: instant(4))
        #expect(playout.step(late: late, canJump: true, at: instant(8)) == .unchanged)
        // Early playback is corrected meanwhile.
        #expect(
            playout.step(late: -late, canJump: true, at: instant(8)) == .play(rate: 1 - SynchronizedPlayout.rateChange))
        playout.interrupt()
        #expect(
            playout.step(late: late, canJump: true, at: instant(9)) == .play(rate: 1 + SynchronizedPlayout.rateChange))
        #expect(playout.step(late: .milliseconds(5), canJump: true, at: instant(12)) == .unchanged)
        #expect(playout.step(late: .milliseconds(4), canJump: true, at: instant(13)) == .play(rate: 1))
    }

    @Test("seeks that do not help become rarer")
    func seeks() {
        var playout = SynchronizedPlayout()
        playout.begin(isActive: true)
        let jumps = (Int64(0)..<120).filter { second in
            let now = Instant(nanoseconds: second * 1_000_000_000)
            return playout.step(late: .seconds(2 as Int64), canJump: true, at: now) == .jump
        }
        #expect(jumps == [0, 5, 15, 35, 75, 115])
    }
}
