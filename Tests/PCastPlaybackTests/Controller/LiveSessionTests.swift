import PCastCore
import Testing

@testable import PCastPlayback

@Suite("Sessions of live programs")
struct LiveSessionTests {
    private let scripts = ScriptedPipelines()
    private let transcript = Transcript(hasProgress: true)
    private let player: Player

    init() {
        player = Player(scripts.factory)
        player.addObserver(transcript)
    }

    private func received() async -> [String] {
        await player.settled()
        return transcript.take()
    }

    /// Returns a window of one minute, in which position zero was recorded at 1000 s, with 3 s more to the edge.
    private func window(_ start: Double) -> ContentOverview {
        let range = TimeSpan(seconds: start)...TimeSpan(seconds: start + 60)
        let anchor = TimecodeAnchor(
            position: .zero, wallTime: WallTime(millisecondsSinceEpoch: 1_000_000), source: .programDateTime)
        return ContentOverview(
            kind: .live, tracks: [.video, .audio], seekableRange: range, anchors: [anchor], liveEdge: .seconds(3))
    }

    private func timecode() -> Int64? { player.playhead?.timecode.map { $0.nanosecondsSinceEpoch / 1_000_000 } }

    @Test("in a sliding window playback starts near the edge, seeks by wall time, and is overtaken by the window")
    func window() async throws {
        let cuePoints = [10.0, 57, 58].map { CuePoint(at: .seconds($0)) }
        let consumer = Transcript()
        player.add(consumer)
        player.set(video: Video("https://a.example/live.m3u8", cuePoints: cuePoints), play: true)
        let script = try await scripts.last(player)
        script.open(window(0))
        script.completeSeek(at: .seconds(57))
        // A player that joins passes no earlier cue points, nor those at its position.
        #expect(await received().suffix(4) == ["duration inf", "playing", "ready", "position 57.0"])
        #expect(
            timecode() == 1_057_000
                && player.playhead?.timecodeRange?.lowerBound.nanosecondsSinceEpoch == 1_000_000_000_000)
        script.run(2)
        script.open(window(2))
        await player.settled()
        #expect(
            consumer.take().filter { $0.hasPrefix("cue") || $0.hasPrefix("ranges") } == [
                "ranges 0.0...60.0", "cue points 58.0 from 57.9 to 58.0", "ranges 2.0...62.0",
            ])

        let back = player.startSeek(to: WallTime(millisecondsSinceEpoch: 1_019_000))
        script.completeSeek()
        #expect(try await back.reachedPosition == .seconds(19) && timecode() == 1_019_000)
        async let edge = player.seekToLiveEdge()
        while !script.playhead.isSeeking { await Task.yield() }
        script.completeSeek()
        #expect(try await edge == .seconds(62))

        // While paused, the window passes it. The frame remains until playback resumes, which then begins with the
        // pipeline's own seek.
        player.pause()
        script.open(window(100))
        await player.settled()
        #expect(player.position == 62 && player.playhead?.isEvicted == true)
        let before = try #require(player.playhead?.epoch)
        _ = await received()
        player.play()
        let epoch = script.seek(to: .seconds(100))
        script.notify(.evicted(.seconds(100)), of: epoch)
        await player.settled()
        #expect(player.state == .playing(buffering: true) && player.overlayState == .seeking)
        script.completeSeek()
        #expect(await received() == ["playing", "playing, buffering", "playing", "position 100.0"])
        let after = try #require(player.playhead?.epoch)
        #expect(after > before && timecode() == 1_100_000)
    }

    @Test("a program that its publisher ends has an end, after which nothing can be played again")
    func ending() async throws {
        let consumer = Transcript()
        player.add(consumer)
        player.set(video: Video("pcast://a.example/stream"), play: true)
        let script = try await scripts.last(player)
        let anchor = TimecodeAnchor(
            position: .zero, wallTime: WallTime(millisecondsSinceEpoch: 5_000), source: .capture)
        script.open(ContentOverview(kind: .live, tracks: [.video, .audio], anchors: [anchor]))
        script.completeSeek()
        script.run(4)
        await player.settled()
        #expect(timecode() == 9_000 && player.duration == .infinity)
        _ = await received()
        _ = consumer.take()
        script.end()
        #expect(await received() == ["paused", "finished"] && player.overlayState == .stopped)
        player.play()
        #expect(await received() == [] && player.state == .paused(buffering: false))
        #expect(consumer.take() == ["+ end", "playlist of 1 completed", "+ playRequest"])
    }

    @Test("a resumed program continues at its edge")
    func resumed() async throws {
        player.set(video: Video("https://a.example/live.m3u8"), play: true)
        let first = try await scripts.last(player)
        first.open(window(0))
        first.completeSeek(at: .seconds(57))
        first.notify(.failed(.brokeOff("live.m3u8", reason: "gone")))
        await player.settled()
        #expect(player.resume())
        let second = try await scripts.last(player)
        second.open(window(80))
        second.completeSeek(at: .seconds(137))
        await player.settled()
        #expect(second.calls == ["play"] && player.position == 137 && player.state.isPlaying)
    }
}
