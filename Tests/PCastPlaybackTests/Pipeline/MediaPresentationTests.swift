import PCastCore
import PCastTestSupport
import Testing

@testable import PCastPlayback

@Suite("Presentation on virtual time")
struct MediaPresentationTests {
    @Test("each frame is shown once, in order and in time, with its audio")
    func steady() throws {
        var stage = VirtualPlayback()
        stage.run(for: .milliseconds(100))
        #expect(stage.shown.map(\.number) == [0])
        #expect(stage.kinds() == ["buffering", "overview", "128x72", "landed", "filled"])
        let begin = stage.now
        stage.presentation.play(at: begin)
        stage.run(for: .seconds(12))
        #expect(stage.shown.map(\.number) == Array(0..<300))
        // Audio must be written before it is heard, so both begin later by what the audio output needs.
        for shown in stage.shown.dropFirst() {
            let wanted = begin + .milliseconds(40) + stage.media.position(ofFrame: Int64(shown.number))
            #expect((shown.at - wanted).magnitude < .milliseconds(1))
        }
        for heard in stage.heard.dropLast() {
            let wanted = begin + .milliseconds(40) + heard.audio.timestamp.span
            #expect((heard.at - wanted).magnitude < .milliseconds(1))
        }
        #expect(stage.heard.dropLast().reduce(0) { $0 + $1.audio.sampleCount } == 468 * 1_024)
        #expect(stage.presentation.statistics.framesDropped == 0 && stage.presentation.statistics.stalls == 0)
    }

    @Test("playback ends when the last frame and the last audio have been presented")
    func end() throws {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(2)))
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(5))
        let ended = try #require(stage.events.last)
        guard case .ended = ended.event.kind else {
            Issue.record("the last is \(ended.event.kind)")
            return
        }
        let first = try #require(stage.heard.first)
        let began = first.at - first.audio.timestamp.span
        #expect((ended.at - (began + .seconds(2))).magnitude < .milliseconds(1))
        #expect(stage.shown.last?.number == 59)
        #expect(stage.presentation.clock.playhead(at: stage.now).position == .seconds(2))
        #expect(stage.presentation.clock.playhead(at: stage.now).rate == 0)
        // The end is reported once, even if playback is requested again.
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(1))
        #expect(stage.kinds().filter { $0 == "ended" }.count == 1)
    }

    @Test(
        "playback at another rate takes the expected time, and audio stays synchronized",
        arguments: [
            0.25, 0.5, 1.5, 2, 4,
        ])
    func rates(_ rate: Double) throws {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(6), framesPerSecond: 25))
        stage.presentation.setRate(rate, at: stage.now)
        stage.run(for: .milliseconds(50))
        let begin = stage.now + .milliseconds(40)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(30))
        let ended = try #require(stage.events.last)
        #expect(ended.event.kind.word == "ended")
        #expect(abs((ended.at - begin).seconds - 6 / rate) < 0.01)
        for shown in stage.shown.dropFirst() {
            let wanted = Double(shown.number) * 0.04 / rate
            #expect(abs((shown.at - begin).seconds - wanted) < 0.001)
        }
        // Audio is produced in consecutive pieces of 15 ms.
        let length = stage.heard.reduce(TimeSpan.zero) { $0 + $1.audio.length }
        #expect(abs(length.seconds - 6 / rate) < 0.05)
        for (one, next) in zip(stage.heard, stage.heard.dropFirst().dropLast()) {
            #expect((one.at + one.audio.length - next.at).magnitude < .milliseconds(1))
        }
        #expect(stage.presentation.statistics.framesDropped == 0)
    }

    @Test("if there are more frames than can be displayed, some are omitted and none is late")
    func thinning() {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(4), framesPerSecond: 60))
        stage.presentation.setRate(4, at: stage.now)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(3))
        let intervals = zip(stage.shown.dropFirst(), stage.shown.dropFirst(2)).map { $1.at - $0.at }
        // The last frame is always shown.
        #expect(intervals.dropLast().allSatisfy { $0 >= .milliseconds(12) && $0 < .milliseconds(20) })
        #expect(stage.shown.last?.number == 239)
        #expect(stage.shown.count > 70 && stage.presentation.statistics.framesDropped == 0)
        #expect(stage.presentation.statistics.framesThinned + stage.shown.count == 240)
    }

    @Test("a pause holds video and audio, and both resume at their position")
    func pause() throws {
        var stage = VirtualPlayback()
        stage.presentation.play(at: stage.now)
        stage.run(for: .milliseconds(1_000))
        let paused = stage.now
        stage.presentation.pause(at: paused)
        let position = stage.presentation.clock.playhead(at: paused).position
        stage.run(for: .seconds(20))
        #expect(stage.presentation.clock.playhead(at: stage.now).position == position)
        #expect(stage.shown.allSatisfy { $0.at <= paused } && stage.heard.allSatisfy { $0.at <= paused })
        let resumed = stage.now
        stage.presentation.play(at: resumed)
        stage.run(for: .seconds(2))
        let numbers = stage.shown.map(\.number)
        #expect(numbers == Array(0..<numbers.count))
        let first = try #require(stage.heard.first { $0.at > resumed })
        #expect((first.audio.timestamp.span - TimeSpan(position)).magnitude < .milliseconds(1))
        #expect(first.at == resumed + .milliseconds(40))
    }

    @Test("a slow reader makes playback wait and report it, and nothing is skipped")
    func stall() throws {
        var stage = VirtualPlayback()
        stage.gate = .seconds(2)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(5))
        #expect(stage.kinds().suffix(2) == ["filled", "buffering"])
        let stalled = try #require(stage.events.last)
        #expect(abs((stalled.at - VirtualPlayback.origin).seconds - 2.04) < 0.05)
        let position = stage.presentation.clock.playhead(at: stage.now).position
        #expect((TimeSpan(position) - .seconds(2)).magnitude <= .milliseconds(22))
        #expect(stage.presentation.clock.playhead(at: stage.now).rate == 0)
        stage.gate = nil
        stage.run(for: .seconds(20))
        #expect(stage.kinds().suffix(2) == ["filled", "ended"])
        #expect(stage.shown.map(\.number) == Array(0..<300))
        #expect(stage.presentation.statistics.stalls == 1)
        // The audio that was heard is continuous except for one gap.
        var holes = 0
        for (one, next) in zip(stage.heard, stage.heard.dropFirst().dropLast()) {
            let gap = next.at - (one.at + one.audio.length)
            if gap.magnitude > .milliseconds(1) { holes += 1 }
        }
        #expect(holes == 1)
    }

    @Test("after a wait playback resumes when the content has enough, but not never")
    func resumption() {
        for enough in [true, false] {
            var stage = VirtualPlayback()
            stage.gate = .seconds(2)
            stage.presentation.play(at: stage.now)
            stage.run(for: .seconds(3))
            stage.gate = nil
            stage.presentation.loaded = .milliseconds(2_500)
            stage.run(for: .seconds(1))
            #expect(stage.kinds().last == "buffering")
            if enough { stage.presentation.loaded = .milliseconds(3_600) }
            stage.run(for: enough ? .milliseconds(150) : .seconds(2))
            #expect(stage.kinds().last == "filled")
        }
    }

    @Test("after a wait near its end playback resumes as soon as the rest is present")
    func resumptionAtTheEnd() {
        var stage = VirtualPlayback()
        stage.gate = .seconds(9)
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(11))
        #expect(stage.kinds().last == "buffering")
        stage.presentation.loaded = .seconds(10)
        stage.gate = nil
        stage.run(for: .milliseconds(500))
        #expect(stage.kinds().last == "filled")
    }

    @Test("a failure is reported after the media before it, and at once while paused")
    func failure() throws {
        for isPlaying in [true, false] {
            var stage = VirtualPlayback()
            stage.gate = .seconds(1)
            stage.failure = .brokeOff("x", reason: "cut")
            if isPlaying { stage.presentation.play(at: stage.now) }
            stage.run(for: .seconds(4))
            if !isPlaying {
                // Playback did not get that far.
                #expect(stage.kinds().last == "filled")
                _ = stage.presentation.seek(to: .milliseconds(990), at: stage.now)
                stage.run(for: .seconds(1))
            }
            #expect(stage.kinds().last == "failed")
            if isPlaying { #expect(stage.shown.last?.number == 29) }
            let count = stage.events.count
            stage.presentation.play(at: stage.now)
            _ = stage.presentation.seek(to: .zero, at: stage.now)
            stage.run(for: .seconds(3))
            #expect(stage.events.count == count, "no event follows a failure")
        }
    }

    @Test("if one track ends before the other, the other one continues", arguments: [true, false])
    func shorterTrack(_ soundIsShorter: Bool) {
        struct Item {
            var item: ContentItem
            var position: TimeSpan
        }
        let media = StampedMedia(duration: .seconds(4))
        var presentation = MediaPresentation(at: VirtualPlayback.origin)
        var pending: [Item] = []
        for number in 0..<media.frameCount where soundIsShorter || number < 30 {
            pending.append(Item(item: media.videoFrame(number), position: media.position(ofFrame: number)))
        }
        for number in 0..<media.audioCount where !soundIsShorter || number < 47 {
            pending.append(Item(item: media.audio(number), position: media.position(ofAudio: number)))
        }
        pending.sort { $0.position < $1.position }
        var now = VirtualPlayback.origin
        presentation.play(at: now)
        var (stalls, ended, shown) = (0, false, 0)
        for _ in 0..<5_000 where !ended {
            var isPaused = false
            while !isPaused {
                switch presentation.readerTask() {
                case .open: presentation.opened(media.overview, at: .zero, now: now)
                case .read(let epoch):
                    if pending.isEmpty {
                        presentation.reachedEnd(of: epoch, at: now)
                    } else {
                        presentation.take(pending.removeFirst().item, of: epoch, at: now)
                    }
                default: isPaused = true
                }
            }
            while let output = presentation.poll(at: now) {
                switch output {
                case .event(let event):
                    if case .ended = event.kind { ended = true }
                    if case .buffering(true) = event.kind { stalls += 1 }
                case .show: shown += 1
                default: break
                }
            }
            now = max(presentation.deadline(at: now) ?? now + .milliseconds(5), now + .microseconds(1))
        }
        #expect(ended && stalls == 1, "only the first stall")
        #expect(shown == (soundIsShorter ? 120 : 30))
        #expect(now - VirtualPlayback.origin < .milliseconds(4_100))
    }

    @Test("a presenter that is late drops nothing for some milliseconds, and catches up after a long delay")
    func lateness() {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(5), framesPerSecond: 60))
        var generator = SeededGenerator(seed: 3)
        stage.lateness = { .microseconds(Int64.random(in: 0...20_000, using: &generator)) }
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(3))
        #expect(stage.presentation.statistics.framesDropped == 0)
        let count = stage.shown.count
        #expect(stage.shown.map(\.number) == Array(0..<count))
        var isHeld = true
        stage.lateness = {
            defer { isHeld = false }
            return isHeld ? .milliseconds(120) : .zero
        }
        stage.run(for: .seconds(1))
        #expect(stage.presentation.statistics.framesDropped >= 3)
        #expect(stage.presentation.statistics.stalls == 0)
        let last = stage.presentation.clock.playhead(at: stage.now).position
        #expect(
            (stage.media.position(ofFrame: Int64(stage.shown.last!.number)) - TimeSpan(last)).magnitude
                < .milliseconds(18))
    }

    @Test("in an hour it wakes no more often than there are frames, and does not drift")
    func economy() {
        var stage = VirtualPlayback(StampedMedia(duration: .seconds(600), framesPerSecond: 25))
        stage.presentation.play(at: stage.now)
        stage.run(for: .seconds(300))
        #expect(stage.wakes < 300 * 25 * 11 / 10)
        let last = stage.shown.last!
        let wanted = VirtualPlayback.origin + .milliseconds(40) + stage.media.position(ofFrame: Int64(last.number))
        #expect((last.at - wanted).magnitude < .milliseconds(1))
    }
}
