import PCastCore
import PCastTestSupport
import Testing

@testable import PCastPlayback

@Suite("Seeks, texts and windows on virtual time")
struct PresentationSeekTests {
    @Test("a seek shows the frame at its position, whether paused or playing", arguments: [true, false])
    func exact(_ isPlaying: Bool) throws {
        var stage = VirtualPlayback()
        if isPlaying { stage.presentation.play(at: stage.now) }
        stage.run(for: .seconds(1))
        for (milliseconds, frame) in [(5_000, 150), (5_010, 150), (8_999, 269), (0, 0), (33, 0), (34, 1)] {
            stage.shown = []
            stage.events = []
            let epoch = stage.presentation.seek(to: .milliseconds(Int64(milliseconds)), at: stage.now)
            stage.run(for: .milliseconds(5))
            #expect(stage.shown.first?.number == frame)
            #expect(stage.events.allSatisfy { $0.event.epoch == epoch })
            #expect(stage.kinds() == ["buffering", "landed", "filled"])
            #expect(stage.presentation.clock.playhead(at: stage.now).isSeeking == false)
        }
        if !isPlaying { #expect(stage.shown.count == 1) }
    }

    @Test("of several seeks the last one counts, and the others show and report nothing")
    func superseded() {
        var stage = VirtualPlayback()
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(1))
        (stage.shown, stage.events) = ([], [])
        var last = PlayheadEpoch()
        for target in [3, 9, 4, 6] as [Int64] { last = stage.presentation.seek(to: .seconds(target), at: stage.now) }
        stage.run(for: .milliseconds(20))
        #expect(stage.seeks == [.seconds(6)])
        #expect(stage.shown.map(\.number) == [180])
        #expect(stage.landings == [.seconds(6)])
        #expect(stage.events.last?.event.epoch == last)
    }

    @Test("data that was read for an earlier position is ignored after a seek")
    func stale() {
        var stage = VirtualPlayback()
        stage.run(for: .milliseconds(10))
        let before = stage.presentation.clock.epoch
        let epoch = stage.presentation.seek(to: .seconds(5), at: stage.now)
        stage.presentation.take(stage.media.videoFrame(7), of: before, at: stage.now)
        stage.presentation.finishSeek(to: .seconds(2), of: before)
        stage.presentation.reachedEnd(of: before, at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.shown.map(\.number) == [0, 150])
        #expect(stage.landings.last == .seconds(5) && stage.events.last?.event.epoch == epoch)
    }

    @Test("a seek before the content is open determines the start")
    func early() {
        var stage = VirtualPlayback()
        let epoch = stage.presentation.seek(to: .seconds(4), at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.shown.map(\.number) == [120])
        #expect(stage.landings == [.seconds(4)] && stage.presentation.clock.epoch == epoch)
    }

    @Test("a seek to the end completes and then ends, and a seek back from there plays again")
    func toTheEnd() {
        var stage = VirtualPlayback()
        stage.run(for: .milliseconds(10))
        _ = stage.presentation.seek(to: .seconds(10), at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.landings.last == .seconds(10))
        #expect(stage.kinds().last == "filled")
        stage.presentation.play(at: stage.now)
        stage.run(for: .milliseconds(200))
        #expect(stage.kinds().last == "ended")
        // A loop from the end to the beginning reports nothing about the time before.
        for _ in 0..<3 {
            _ = stage.presentation.seek(to: .zero, at: stage.now)
            stage.presentation.play(at: stage.now)
            stage.shown = []
            stage.run(for: .seconds(11))
            #expect(stage.shown.count == 300)
            #expect(stage.kinds().last == "ended")
        }
    }

    @Test("media without seeking keep their position, and the seek fails")
    func notSeekable() {
        var stage = VirtualPlayback()
        stage.overview.seekableRange = nil
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(1))
        let epoch = stage.presentation.clock.epoch
        #expect(stage.presentation.seek(to: .seconds(5), at: stage.now) == epoch)
        stage.run(for: .milliseconds(1))
        #expect(stage.kinds().last == "landed" && stage.seeks.isEmpty)
        let numbers = stage.shown.map(\.number)
        #expect(numbers == Array(0..<numbers.count))
    }

    @Test("a seek during a wait does not wait for the media of the old position")
    func seekOutOfStall() {
        var stage = VirtualPlayback()
        stage.gate = .seconds(2)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(4))
        #expect(stage.kinds().last == "buffering")
        _ = stage.presentation.seek(to: .zero, at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.kinds().suffix(2) == ["landed", "filled"])
    }

    @Test("texts are shown for their time by the playhead, also after a seek into one")
    func subtitles() {
        var media = StampedMedia()
        media.subtitles = [
            ("one", .milliseconds(500)...(.milliseconds(1_500))),
            ("two", .milliseconds(1_000)...(.milliseconds(2_000))),
            ("late", .seconds(6)...(.seconds(8))),
        ]
        var stage = VirtualPlayback(media)
        stage.presentation.play(at: stage.now)
        stage.run(for: .milliseconds(2_500))
        let received = stage.events.filter { $0.event.kind.word?.hasPrefix("subtitle") ?? false }
        #expect(
            received.map { $0.event.kind.word! } == ["subtitle one", "subtitle one\ntwo", "subtitle two", "subtitle -"])
        for (event, milliseconds) in zip(received, [500, 1_000, 1_500, 2_000] as [Int64]) {
            let wanted = VirtualPlayback.origin + .milliseconds(40 + milliseconds)
            #expect((event.at - wanted).magnitude < .milliseconds(1))
        }
        stage.events = []
        stage.presentation.pause(at: stage.now)
        _ = stage.presentation.seek(to: .seconds(7), at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.kinds().contains("subtitle late"))
        _ = stage.presentation.seek(to: .milliseconds(1_200), at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.kinds().contains("subtitle one\ntwo"))
        stage.presentation.select(nil, of: .subtitles, at: stage.now)
        stage.run(for: .milliseconds(10))
        #expect(stage.kinds().contains("subtitle -"))
    }

    @Test("metadata are reported each time that the playhead reaches them")
    func metadata() {
        var media = StampedMedia()
        media.metadata = [300, 300, 2_000, 7_000].enumerated().map { index, milliseconds in
            TimedMetadata(source: .id3, position: .milliseconds(milliseconds), name: "", value: "\(index)")
        }
        var stage = VirtualPlayback(media)
        stage.run(for: .seconds(1))
        #expect(!stage.kinds().contains { $0.hasPrefix("metadata") })
        stage.presentation.play(at: stage.now)
        let begin = stage.now + .milliseconds(40)
        stage.run(for: .milliseconds(2_500))
        let received = stage.events.filter { $0.event.kind.word?.hasPrefix("metadata") ?? false }
        #expect(received.map { $0.event.kind.word! } == ["metadata 0", "metadata 1", "metadata 2"])
        #expect((received[0].at - (begin + .milliseconds(300))).magnitude < .milliseconds(1))
        #expect((received[2].at - (begin + .milliseconds(2_000))).magnitude < .milliseconds(1))
        _ = stage.presentation.seek(to: .milliseconds(6_500), at: stage.now)
        stage.run(for: .seconds(1))
        #expect(stage.kinds().filter { $0.hasPrefix("metadata") }.last == "metadata 3")
        _ = stage.presentation.seek(to: .zero, at: stage.now)
        stage.run(for: .seconds(1))
        #expect(stage.kinds().filter { $0 == "metadata 0" }.count == 2)
    }

    @Test("a live window that passes a slow viewer moves it and reports this, but not a paused frame")
    func eviction() throws {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(60)))
        stage.overview.kind = .live
        stage.overview.duration = nil
        stage.overview.seekableRange = .zero...(.seconds(30))
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(2))
        stage.presentation.pause(at: stage.now)
        stage.overview.seekableRange = .seconds(12)...(.seconds(42))
        stage.presentation.set(stage.overview)
        let shown = stage.shown.count
        stage.run(for: .seconds(1))
        #expect(stage.shown.count == shown)
        #expect(stage.presentation.clock.playhead(at: stage.now).isEvicted)
        let before = stage.presentation.clock.epoch
        stage.presentation.play(at: stage.now)
        stage.run(for: .milliseconds(100))
        #expect(stage.seeks == [.seconds(13)])
        #expect(stage.kinds().suffix(4) == ["evicted", "buffering", "landed", "filled"])
        #expect(stage.shown[shown].number == 13 * 30)
        #expect(try #require(stage.events.last).event.epoch > before)
        #expect(!stage.presentation.clock.playhead(at: stage.now).isEvicted)
    }

    @Test(
        "tracks can be changed during playback, which continues with video or audio alone")
    func selection() {
        var stage = VirtualPlayback()
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(1))
        stage.presentation.select(nil, of: .audio, at: stage.now)
        stage.run(for: .seconds(1))
        #expect(stage.presentation.awaited == [.video])
        stage.presentation.select(.init(rawValue: "a"), of: .audio, at: stage.now)
        stage.run(for: .seconds(1))
        #expect(stage.presentation.awaited == [.video, .audio])
        #expect(stage.kinds().filter { $0 == "buffering" }.count == 1)
        let numbers = stage.shown.map(\.number)
        #expect(numbers == Array(0..<numbers.count))
    }

    @Test("audio alone completes seeks, reports ten positions per second, and ends", arguments: [1.0, 2.0])
    func audioOnly(_ rate: Double) {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(4), framesPerSecond: 0))
        stage.presentation.setRate(rate, at: stage.now)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(5))
        #expect(stage.kinds() == ["buffering", "overview", "landed", "filled", "ended"])
        let received = stage.events.filter { if case .position = $0.event.kind { true } else { false } }
        #expect(abs(Double(received.count) - 40 / rate) <= 2)
    }

    @Test("any order of commands has the result of a plain seek, and playback never stops by itself", arguments: 1...40)
    func anyOrder(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(8)))
        for _ in 0..<40 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: stage.presentation.play(at: stage.now)
            case 1: stage.presentation.pause(at: stage.now)
            case 2: stage.presentation.setRate(.random(in: 0.2...4.5, using: &generator), at: stage.now)
            case 3:
                let target = TimeSpan.milliseconds(.random(in: -100...9_000, using: &generator))
                _ = stage.presentation.seek(to: target, at: stage.now)
            case 4:
                stage.gate =
                    Bool.random(using: &generator) ? nil : .milliseconds(.random(in: 0...8_000, using: &generator))
            default: break
            }
            let before = stage.presentation.clock.playhead(at: stage.now)
            stage.run(for: .milliseconds(.random(in: 0...700, using: &generator)))
            let after = stage.presentation.clock.playhead(at: stage.now)
            #expect(after.epoch != before.epoch || after.position >= before.position || before.isSeeking)
        }
        stage.gate = nil
        stage.presentation.pause(at: stage.now)
        (stage.shown, stage.events) = ([], [])
        _ = stage.presentation.seek(to: .seconds(4), at: stage.now)
        stage.run(for: .milliseconds(200))
        #expect(stage.shown.map(\.number) == [120])
        #expect(stage.kinds().suffix(2) == ["landed", "filled"])
        stage.presentation.setRate(1, at: stage.now)
        stage.presentation.play(at: stage.now)
        stage.run(for: .milliseconds(4_100))
        #expect(stage.shown.map(\.number) == Array(120..<240))
        #expect(stage.kinds().last == "ended")
    }
}
