import PCast
import PCastCore
import Testing

@testable import PCastPlayback

@Suite("A live stream in a player on virtual time")
struct StreamPresentationTests {
    private static let origin = Instant(nanoseconds: 9_000_000_000)
    private static let captured = WallTime(millisecondsSinceEpoch: 1_780_000_000_000)
    private static let size = Dimensions(width: 640, height: 360)

    private var stream = StreamPresentation(at: StreamPresentationTests.origin)
    private var now = StreamPresentationTests.origin

    private mutating func words() -> [String] {
        var words: [String] = []
        while let event = stream.poll() { if let word = event.kind.word { words.append(word) } }
        return words
    }

    /// Shows frames at 25 per second, of which the first has a timestamp of 90,000 ticks.
    private mutating func show(_ numbers: Range<Int64>, ticks: Int64 = 90_000) {
        for number in numbers {
            now = Self.origin + .milliseconds(300 + 40 * number)
            stream.presented(
                MediaTime(ticks: ticks + number * 3_600, rate: .video),
                captured: Self.captured + .milliseconds(40 * number),
                size: Self.size, at: now)
        }
    }

    @Test("a stream opens, is ready with its first frame, and has the sender's time")
    mutating func time() {
        stream.opened([ContentTrack(id: .init(rawValue: "video"), kind: .video)])
        stream.play(at: now)
        show(0..<100)
        #expect(words() == ["buffering", "overview", "640x360", "landed", "filled"])
        let playhead = stream.clock.playhead(at: now + .milliseconds(10))
        #expect(playhead.position == .milliseconds(99 * 40 + 10) && playhead.rate == 1)
        #expect(playhead.timecode == Self.captured + .milliseconds(99 * 40 + 10))
        #expect(playhead.seekableRange == nil)
    }

    @Test("when frames stop, playback stalls and reports it, and resumes with the next frame")
    mutating func stall() throws {
        stream.play(at: now)
        show(0..<10)
        _ = words()
        let deadline = try #require(stream.deadline)
        #expect(deadline == now + .milliseconds(500))
        stream.advance(to: deadline - .milliseconds(1))
        #expect(words().isEmpty)
        stream.advance(to: deadline)
        #expect(words() == ["buffering"] && stream.deadline == nil)
        #expect(stream.clock.playhead(at: deadline + .seconds(1)).rate == 0)
        show(40..<42)
        #expect(words() == ["filled"])
        #expect(stream.clock.playhead(at: now).position == .milliseconds(41 * 40))
    }

    @Test("a pause shows and awaits nothing, except that the first frame is always shown")
    mutating func pause() {
        #expect(stream.shows())
        show(0..<1)
        #expect(!stream.shows() && stream.deadline == nil)
        show(1..<20)
        #expect(stream.clock.playhead(at: now).position == .zero)
        stream.play(at: now)
        show(50..<51)
        #expect(stream.clock.playhead(at: now).position == .milliseconds(2_000))
    }

    @Test("a stream whose timestamps restart continues at its position")
    mutating func splice() {
        stream.play(at: now)
        show(0..<10)
        let before = stream.clock.playhead(at: now).position
        show(10..<20, ticks: -1_000_000)
        let after = stream.clock.playhead(at: now).position
        #expect(after >= before + .milliseconds(360) && after <= before + .milliseconds(401))
    }

    @Test(
        "the reason of the end states whether the stream was played to its end", arguments: StreamEndedReason.allCases)
    func end(_ reason: StreamEndedReason) {
        var copy = self
        copy.show(0..<3)
        _ = copy.words()
        copy.stream.ended(
            StreamEndedInfo(ender: .platform, reason: reason, reasonDescription: "why"), name: "x", at: copy.now)
        let isNormal = [.ended, .custom, .pcastStop, .appBackground].contains(reason)
        #expect(copy.words() == [isNormal ? "ended" : "failed"])
        // No event follows the end.
        copy.show(3..<9)
        copy.stream.failed(.notSeekable, at: copy.now)
        _ = copy.stream.seek(to: .zero, at: copy.now)
        #expect(copy.words().isEmpty)
    }

    /// The notifications of captions.
    private mutating func captionWords() -> [String] {
        var words: [String] = []
        while let event = stream.poll() {
            switch event.kind {
            case .subtitle(let text): words.append(text ?? "none")
            case .overview(let overview) where overview.tracks.contains(StreamPresentation.captionTrack):
                words.append(overview.selected.contains(StreamPresentation.captionTrack.id) ? "on" : "off")
            default: break
            }
        }
        return words
    }

    @Test("captions are subtitles, of a track that is known with the first one and can be switched off")
    mutating func captions() {
        stream.opened([ContentTrack(id: .init(rawValue: "video"), kind: .video)])
        stream.play(at: now)
        show(0..<2)
        stream.show(caption: nil)
        #expect(captionWords().isEmpty)
        stream.show(caption: "a")
        stream.show(caption: "a")
        #expect(captionWords() == ["on", "a"])
        stream.show(caption: "b")
        stream.show(caption: nil)
        #expect(captionWords() == ["b", "none"])
        stream.show(caption: "c")
        stream.select(captions: false)
        stream.show(caption: "d")
        #expect(captionWords() == ["c", "off", "none"])
        stream.select(captions: true)
        #expect(captionWords() == ["on", "d"])
        stream.failed(.notSeekable, at: now)
        stream.show(caption: "e")
        #expect(captionWords().isEmpty)
    }

    @Test("a seek in media without seeking returns the current position")
    mutating func seek() {
        show(0..<1)
        _ = words()
        let epoch = stream.seek(to: .seconds(3), at: now)
        #expect(epoch == stream.clock.epoch)
        #expect(words() == ["landed"])
    }

    // MARK: The window

    /// The window of a stream that began 20 s before the first frame.
    private func window(until number: Int64) -> ClosedRange<WallTime> {
        Self.captured - .seconds(20)...Self.captured + .milliseconds(40 * number)
    }

    /// Shows frames in real time of a stream with a window.
    private mutating func showSeekable(_ numbers: Range<Int64>) {
        for number in numbers {
            stream.set(window: window(until: number), at: now)
            show(number..<(number + 1))
        }
    }

    /// Shows frames of the window, which have other timestamps.
    private mutating func showWindow(_ numbers: Range<Int64>) {
        for number in numbers {
            now = now + .milliseconds(40)
            stream.presented(
                MediaTime(ticks: 90_000_000 + number * 3_600, rate: .video),
                captured: Self.captured + .milliseconds(40 * number), size: Self.size, at: now)
        }
    }

    @Test("the positions of a seekable stream count from the beginning of its window, and follow the capture times")
    mutating func window() throws {
        stream.opened([ContentTrack(id: .init(rawValue: "video"), kind: .video)])
        stream.play(at: now)
        showSeekable(0..<50)
        let playhead = stream.clock.playhead(at: now)
        #expect(playhead.position == .seconds(20) + .milliseconds(49 * 40))
        #expect(playhead.timecode == Self.captured + .milliseconds(49 * 40))
        #expect(playhead.seekableRange == .zero ... .seconds(20) + .milliseconds(49 * 40))
        #expect(playhead.timecodeRange == window(until: 49))
        let overviews = words().count { $0 == "overview" }
        #expect((2...6).contains(overviews), "the range is reported from time to time")
    }

    @Test("a seek into the window displays its frame only, and a seek to the end displays the next one in real time")
    mutating func seekInWindow() throws {
        stream.play(at: now)
        showSeekable(0..<50)
        _ = words()
        let epoch = stream.seek(to: .seconds(5), at: now)
        #expect(stream.awaitedSeek == .time(Self.captured - .seconds(15)) && epoch == stream.clock.epoch)
        #expect(words() == ["buffering"] && stream.deadline == nil)
        // Frames in real time are not displayed meanwhile.
        show(50..<60)
        #expect(words().isEmpty && stream.clock.playhead(at: now).position == .seconds(5))
        #expect(stream.clock.playhead(at: now).isSeeking)
        stream.reached(Self.captured - .seconds(15))
        // The renderer may hold frames in real time.
        show(60..<61)
        #expect(words().isEmpty)
        showWindow(-375 ..< -370)
        #expect(words() == ["landed", "filled"])
        #expect(stream.clock.playhead(at: now).position == .seconds(5) + .milliseconds(160))
        #expect(stream.clock.playhead(at: now).timecode == Self.captured - .milliseconds(371 * 40))

        _ = stream.seek(to: .seconds(22), at: now)
        #expect(words() == ["buffering"])
        guard case .live? = stream.awaitedSeek else {
            Issue.record("the end of the window is real time")
            return
        }
        // A late frame of the window is not in real time.
        showWindow(-370 ..< -369)
        stream.reached(Self.captured - .seconds(15))
        #expect(words().isEmpty)
        showSeekable(100..<110)
        #expect(words().filter { $0 != "overview" } == ["landed", "filled"])
        #expect(stream.clock.playhead(at: now).timecode == Self.captured + .milliseconds(109 * 40))
    }

    @Test("if the window cannot be played, the seek ends with the next frame in real time")
    mutating func failedSeek() {
        stream.play(at: now)
        showSeekable(0..<50)
        _ = stream.seek(to: .seconds(5), at: now)
        _ = words()
        stream.returned()
        show(60..<62)
        #expect(words() == ["landed", "filled"])
        #expect(stream.clock.playhead(at: now).timecode == Self.captured + .milliseconds(61 * 40))
    }

    @Test("a capture clock that is set back does not move a seekable stream back, and its end ends the window")
    mutating func clockStep() {
        stream.play(at: now)
        showSeekable(0..<50)
        let before = stream.clock.playhead(at: now).position
        stream.presented(
            MediaTime(ticks: 90_000 + 50 * 3_600, rate: .video), captured: Self.captured - .seconds(3_600),
            size: Self.size, at: now + .milliseconds(40))
        #expect(stream.clock.playhead(at: now + .milliseconds(40)).position >= before)
        _ = words()
        stream.ended(
            StreamEndedInfo(ender: .platform, reason: .ended, reasonDescription: "ended"), name: "x", at: now)
        #expect(words() == ["overview", "ended"] && stream.clock.seekableRange == nil)
    }
}
