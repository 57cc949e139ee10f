import PCastCore
import Testing

@testable import PCastPlayback

extension VirtualPlayback {
    /// The properties of a stream with low latency, whose playback begins at the live edge or elsewhere.
    fileprivate mutating func makeLive(_ range: ClosedRange<TimeSpan>, startsAtLiveEdge: Bool = true) {
        (overview.kind, overview.duration, overview.seekableRange) = (.live, nil, range)
        (overview.isLowLatency, overview.liveEdge) = (true, .milliseconds(800))
        overview.startsAtLiveEdge = startsAtLiveEdge
    }

    /// Moves the window.
    fileprivate mutating func move(to range: ClosedRange<TimeSpan>) {
        overview.seekableRange = range
        presentation.set(overview)
    }
}

@Suite("Playback near the live edge on virtual time")
struct LivePlaybackTests {
    @Test(
        "media after the absence of a publisher is played as soon as it has arrived", arguments: [5, 20, 45] as [Int64])
    func absence(_ seconds: Int64) throws {
        let end = TimeSpan.seconds(2 + seconds)
        var stage = VirtualPlayback(StampedMedia(duration: end + .seconds(5), hole: .seconds(2)..<end))
        stage.makeLive(.zero ... .milliseconds(500))
        stage.gate = .seconds(2)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(2 + seconds))
        #expect(stage.kinds().last == "buffering")
        // The window lists the absence, and then the media after it.
        let before = TimeSpan.milliseconds(800)
        stage.move(to: max(.zero, end - .seconds(30))...(end - before))
        stage.run(for: .milliseconds(500))
        let returned = stage.now
        stage.gate = end + .seconds(1)
        stage.move(to: max(.zero, end - .seconds(30))...(end + .milliseconds(200)))
        stage.run(for: .milliseconds(600))
        let first = try #require(stage.shown.first { $0.at > returned })
        #expect(stage.media.position(ofFrame: Int64(first.number)) >= end && first.at - returned < .milliseconds(300))
        // Playback continues in real time.
        let later = try #require(stage.shown.last)
        let advance = stage.media.position(ofFrame: Int64(later.number - first.number))
        #expect(later.number > first.number && (later.at - first.at - advance).magnitude < .milliseconds(100))
    }

    @Test("absent media on demand takes its time")
    func absenceOnDemand() {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(8), hole: .seconds(2)..<(.seconds(6))))
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(5))
        #expect(stage.shown.last?.number == 59)
        stage.run(for: .seconds(10))
        #expect(stage.shown.last?.number == 239 && stage.presentation.statistics.stalls == 0)
    }

    @Test(
        "playback whose first frame was late reaches the live edge, unless it was to begin elsewhere",
        arguments: [true, false])
    func lateStart(_ startsAtLiveEdge: Bool) {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(60)))
        stage.makeLive(.zero ... .seconds(5), startsAtLiveEdge: startsAtLiveEdge)
        stage.presentation.play(at: stage.now)
        for second in 1...8 {
            stage.run(for: .seconds(1))
            stage.move(to: .zero ... .seconds(Int64(5 + second)))
        }
        let distance = TimeSpan.seconds(13) - TimeSpan(stage.presentation.clock.playhead(at: stage.now).position)
        #expect(stage.seeks.isEmpty != startsAtLiveEdge)
        #expect(startsAtLiveEdge ? distance <= .seconds(2) : distance >= .seconds(4), "\(distance)")
    }

    @Test(
        "a window that has passed moves playback from the live edge to the edge, and other playback into the window",
        arguments: [true, false])
    func passedWindow(_ startsAtLiveEdge: Bool) {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(100)))
        stage.makeLive(.zero ... .seconds(5), startsAtLiveEdge: startsAtLiveEdge)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(1))
        stage.move(to: .seconds(40) ... .seconds(70))
        stage.run(for: .milliseconds(100))
        #expect(stage.seeks == [.seconds(startsAtLiveEdge ? 70 : 41)])
    }
}

@Suite("Pursuit of the live edge")
struct EdgePursuitTests {
    private static let holdBack = TimeSpan.milliseconds(800)

    /// Returns the steps for lags, ten per second.
    private func run(_ pursuit: inout LiveEdgeCatchUp, _ lags: [Double], from second: Double = 0) -> [LiveEdgeCatchUp
        .Step]
    {
        lags.enumerated().compactMap { index, lag in
            let now = Instant(nanoseconds: Int64((second + Double(index) / 10) * 1e9))
            let step = pursuit.step(behind: TimeSpan(seconds: lag), holdBack: Self.holdBack, at: now)
            return step == .unchanged ? nil : step
        }
    }

    @Test("a player that falls behind plays faster, and one that is far behind seeks")
    func steps() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: -0.16, count: 100)) == [], "the edge is nearer by less than a part")
        #expect(run(&pursuit, Array(repeating: 0.6, count: 30), from: 20) == [.play(rate: LiveEdgeCatchUp.rate)])
        #expect(pursuit.isFaster)
        #expect(run(&pursuit, [0.5, 0.3, -0.19], from: 30) == [])
        #expect(run(&pursuit, [-0.21], from: 31) == [.play(rate: 1)])
        #expect(run(&pursuit, Array(repeating: 1.7, count: 30), from: 40) == [.jump])
    }

    @Test("a stall soon after the distance was restored increases it, and a later one does not", arguments: [1.0, 20])
    func stallAfterPursuit(seconds: Double) {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: 0.1, count: 30)) == [.play(rate: LiveEdgeCatchUp.rate)])
        #expect(run(&pursuit, [-0.21], from: 4) == [.play(rate: 1)])
        #expect(run(&pursuit, Array(repeating: -0.2, count: Int(seconds * 10)), from: 5) == [])
        pursuit.interrupt(holdBack: Self.holdBack)
        let steps = run(&pursuit, Array(repeating: 0.1, count: 30), from: 30)
        #expect(steps == (seconds < 10 ? [] : [.play(rate: LiveEdgeCatchUp.rate)]))
    }

    @Test("a player that was meant to be at the edge pursues it however late it is, and seeks less and less often")
    func lateness() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .seconds(20 as Int64), holdBack: Self.holdBack, isAtEdge: true)
        #expect(run(&pursuit, Array(repeating: 4, count: 22)) == [.jump])
        for attempt in 0..<10 {
            pursuit.begin(behind: .seconds(4 as Int64), holdBack: Self.holdBack, isAtEdge: true)
            _ = run(&pursuit, Array(repeating: 20, count: 22), from: Double(attempt + 1) * 10)
        }
        pursuit.begin(behind: .seconds(4 as Int64), holdBack: Self.holdBack, isAtEdge: true)
        #expect(run(&pursuit, Array(repeating: 3, count: 22), from: 200) == [])
        // Its maximum is four hold-backs more.
        #expect(run(&pursuit, Array(repeating: 5, count: 22), from: 300) == [.jump])
    }

    @Test("an edge that advances in jumps is not pursued")
    func edgeThatJumps() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        let saw = (0..<200).map { 1.7 - Double($0 % 20) / 10 }
        #expect(run(&pursuit, saw) == [])
    }

    @Test("a player that seeked back is not moved, and one that stalled pursues less")
    func pursuesLessAfterSeekOrStall() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .seconds(20 as Int64), holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: 20, count: 50)) == [])
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: 0.6, count: 30), from: 10) == [.play(rate: LiveEdgeCatchUp.rate)])
        pursuit.interrupt(holdBack: Self.holdBack)
        #expect(!pursuit.isFaster)
        #expect(run(&pursuit, Array(repeating: 0.2, count: 60), from: 20) == [])
        #expect(run(&pursuit, Array(repeating: 0.9, count: 30), from: 30) == [.play(rate: LiveEdgeCatchUp.rate)])
    }
}
