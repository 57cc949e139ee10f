import PCastCore
import PCastPlayback
import PCastTestSupport
import Testing

private func seconds(_ seconds: Double) -> TimeSpan { TimeSpan(seconds: seconds) }
private func seconds(_ seconds: Double) -> Duration { TimeSpan(seconds: seconds).duration }

@Suite("Cue points")
struct CuePointTests {
    private static let points = CuePointCollection(
        [90.0, 30, 60].map { CuePoint(type: "ad", at: seconds($0)) }
            + [.afterContent(type: "end"), .beforeContent(type: "begin")])

    private func positions(_ cuePoints: CuePointCollection) -> [Double] { cuePoints.map(\.position.seconds) }

    @Test(
        "a move passes the points after its start up to its destination, in both directions",
        arguments: [
            (PlaybackProgress.beforeBeginning, .at(.zero), [0.0]), (.at(.zero), .at(seconds(120)), [30, 60, 90]),
            (.at(seconds(120)), .at(seconds(30)), [30, 60, 90]), (.at(seconds(30)), .at(seconds(60)), [60]),
            (.at(seconds(60)), .at(seconds(60)), []), (.at(seconds(60)), .at(seconds(30)), [30]),
            (.at(seconds(100)), .afterEnd, [.infinity]), (.beforeBeginning, .afterEnd, [0, 30, 60, 90, .infinity]),
            (.afterEnd, .at(seconds(61)), [90]), (.afterEnd, .afterEnd, []),
        ] as [(PlaybackProgress, PlaybackProgress, [Double])])
    func windows(previous: PlaybackProgress, current: PlaybackProgress, expected: [Double]) {
        #expect(positions(Self.points.passed(from: previous, to: current)) == expected)
    }

    @Test("a collection is ordered by position, and returns the points of a range")
    func collection() {
        let points = Self.points
        #expect(positions(points) == [0, 30, 60, 90, .infinity])
        #expect(positions(points.after(.at(seconds(30)))) == [60, 90, .infinity])
        #expect(positions(points.atOrAfter(.at(seconds(30)))) == [30, 60, 90, .infinity])
        #expect(positions(points.before(.at(seconds(30)))) == [0] && points.before(.beforeBeginning).isEmpty)
        #expect(positions(points.atOrBefore(.at(seconds(30)))) == [0, 30])
        #expect(positions(points.at(.afterEnd)) == [.infinity] && points.at(.at(seconds(31))).isEmpty)
        #expect(points.ofType("ad").count == 3)
        var more = points
        let twins = ["a", "b"].map { CuePoint(type: $0, at: seconds(60)) }
        for twin in twins { more.add(twin) }
        #expect(more.at(.at(seconds(60))).map(\.type) == ["ad", "a", "b"])
        more.remove(twins[0])
        #expect(more.at(.at(seconds(60))).map(\.type) == ["ad", "b"])
        #expect(CuePointCollection(Array(Self.points.reversed())) == Self.points)
    }

    /// The rule for a single point.
    private func isPassed(_ point: PlaybackProgress, _ from: PlaybackProgress, _ to: PlaybackProgress) -> Bool {
        from <= to ? from < point && point <= to : to <= point && point < from
    }

    @Test("a walk over many points passes those of the rule, once for each move", arguments: UInt64(1)...20)
    func walk(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let points = CuePointCollection(
            (0..<200).map {
                CuePoint(type: "\($0)", at: .milliseconds(Int64.random(in: 0...100, using: &generator) * 250))
            }
                + [.afterContent()])
        var progress = CuePointProgress(points)
        var clock = PlayheadClock(at: Instant(nanoseconds: 0))
        var previous = PlaybackProgress.beforeBeginning
        var passedForward = 0
        for step in 0..<300 {
            let now = Instant(nanoseconds: Int64(step) * 1_000_000)
            let epoch = clock.seek(to: .milliseconds(Int64.random(in: 0...100, using: &generator) * 250), at: now)
            // During the seek no point is passed.
            let onTheWay = progress.follow(clock.playhead(at: now))
            #expect(onTheWay == nil)
            clock.show(TimeSpan(clock.playhead(at: now).position), of: epoch, at: now)
            let current = PlaybackProgress.at(clock.playhead(at: now).position)
            let passage = progress.follow(clock.playhead(at: now))
            let expected = points.filter { isPassed($0.position, previous, current) }
            #expect(passage?.cuePoints.cuePoints ?? [] == expected)
            if let passage { #expect(passage.previous == previous && passage.current == current) }
            if previous < current { passedForward += expected.count }
            previous = current
        }
        #expect(passedForward > 0)
        let (end, again) = (progress.finish(), progress.finish())
        #expect(end?.cuePoints.last?.position == .afterEnd && end?.current == .afterEnd)
        #expect(again == nil)
    }

    @Test("several points at one position are one event, and a playhead of an earlier epoch passes nothing")
    func aggregation() {
        let points = CuePointCollection([0, 2, 2, 5].map { CuePoint(at: seconds($0)) } + [.afterContent()])
        var progress = CuePointProgress(points)
        let start = Instant(nanoseconds: 0)
        var clock = PlayheadClock(at: start)
        var epoch = clock.begin(now: start)
        clock.play(at: start)
        clock.show(.zero, of: epoch, at: start)
        var passages: [[Double]] = []
        func collect(_ playhead: Playhead) {
            if let passage = progress.follow(playhead) { passages.append(passage.cuePoints.map(\.position.seconds)) }
        }
        for tenth in 0...10 { collect(clock.playhead(at: start + .milliseconds(100) * Int64(tenth))) }
        #expect(passages == [[0]])
        let late = clock.playhead(at: start + seconds(6))
        epoch = clock.seek(to: seconds(6), at: start + seconds(1))
        collect(clock.playhead(at: start + seconds(1)))
        clock.show(seconds(6), of: epoch, at: start + seconds(1.2))
        collect(clock.playhead(at: start + seconds(1.2)))
        #expect(passages == [[0], [2, 2, 5]])
        epoch = clock.seek(to: seconds(1), at: start + seconds(2))
        clock.show(seconds(1), of: epoch, at: start + seconds(2))
        collect(clock.playhead(at: start + seconds(2)))
        collect(late)
        #expect(passages == [[0], [2, 2, 5], [2, 2, 5]])
    }

    @Test("a start in the middle passes no earlier points, and a point added behind the playhead is not passed")
    func joining() {
        var progress = CuePointProgress(Self.points, from: .at(seconds(50)))
        var clock = PlayheadClock(at: Instant(nanoseconds: 0))
        let epoch = clock.begin(at: seconds(55), now: Instant(nanoseconds: 0))
        clock.show(seconds(55), of: epoch, at: Instant(nanoseconds: 0))
        let joined = progress.follow(clock.playhead(at: Instant(nanoseconds: 0)))
        #expect(joined == nil)
        progress.cuePoints.add(CuePoint(type: "late", at: seconds(52)))
        progress.cuePoints.add(CuePoint(type: "next", at: seconds(57)))
        clock.show(seconds(60), of: epoch, at: Instant(nanoseconds: 0))
        let passage = progress.follow(clock.playhead(at: Instant(nanoseconds: 0)))
        #expect(passage?.cuePoints.map(\.type) == ["next", "ad"])
    }

    @Test("a policy selects from the passed points, and names the position at which to continue")
    func policy() {
        let passage = CuePointPassage(
            previous: .at(.zero), current: .at(seconds(120)),
            cuePoints: Self.points.passed(from: .at(.zero), to: .at(seconds(120))))
        var final = CuePointProgressPolicy(processing: .final, resuming: .lastProcessedCuePoint, ignoresProcessed: true)
        let first = final.apply(to: passage)
        #expect(positions(first.cuePoints) == [90] && first.resumeCuePoint?.position == .at(seconds(90)))
        let again = final.apply(to: passage)
        #expect(again.cuePoints.isEmpty && again.resumeCuePoint == nil)
        var all = CuePointProgressPolicy(processing: .all, resuming: .contentPlayhead, ignoresProcessed: false)
        for _ in 0..<2 {
            let result = all.apply(to: passage)
            #expect(positions(result.cuePoints) == [30, 60, 90] && result.resumeCuePoint == nil)
        }
        var one = CuePointProgressPolicy(processing: .first, resuming: .lastProcessedCuePoint, ignoresProcessed: false)
        #expect(one.apply(to: passage).resumeCuePoint?.position == .at(seconds(30)))
    }

    @Test("progress begins before everything and ends after everything")
    func progress() {
        let order: [PlaybackProgress] = [.beforeBeginning, .at(seconds(-1)), .at(.zero), .at(seconds(1)), .afterEnd]
        #expect(order.map(\.seconds) == [-.infinity, -1, 0, 1, .infinity])
        for (left, first) in order.enumerated() {
            for (right, second) in order.enumerated() { #expect((first < second) == (left < right)) }
        }
    }
}
