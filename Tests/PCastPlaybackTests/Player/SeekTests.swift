import PCastCore
import Testing

@testable import PCastPlayback

@Suite("Seeks")
struct SeekTests {
    private let scripts = ScriptedPipelines()
    private let player: Player

    init() { player = Player(scripts.factory) }

    private func opened(_ overview: ContentOverview = .film(10)) async throws -> ScriptedPipeline {
        player.set(video: Video("a.mp4"), play: true)
        let script = try await scripts.last(player)
        script.open(overview)
        script.completeSeek()
        await player.settled()
        return script
    }

    @Test("a seek ends with its frame, and one that is superseded is cancelled")
    func superseded() async throws {
        let script = try await opened()
        let first = player.startSeek(to: .seconds(2))
        let epoch = script.playhead.epoch
        let second = player.startSeek(to: .seconds(8))
        await #expect(throws: CancellationError.self) { try await first.reachedPosition }
        // Its frame comes late and is ignored.
        script.notify(.landed(.seconds(2)), of: epoch)
        script.notify(.position(.milliseconds(2_100)), of: epoch)
        await player.settled()
        #expect(player.state == .playing(buffering: true) && player.overlayState == .seeking)
        script.completeSeek()
        #expect(try await second.reachedPosition == .seconds(8))
        // A late waiter receives the result as well.
        #expect(try await second.reachedPosition == .seconds(8) && player.state.isPlaying)
        let beyond = player.startSeek(to: .seconds(99))
        script.completeSeek()
        #expect(try await beyond.reachedPosition == .seconds(10))
    }

    @Test("media that arrive before the frame of a seek do not end the seek")
    func frame() async throws {
        let script = try await opened()
        let seek = player.startSeek(to: .seconds(2))
        script.notify(.buffering(true))
        script.notify(.buffering(false))
        await player.settled()
        #expect(player.overlayState == .seeking)
        script.completeSeek(at: .milliseconds(1_960))
        #expect(try await seek.reachedPosition == .milliseconds(1_960))
    }

    @Test("before the media are open a seek waits for them, and the beginning is not shown")
    func early() async throws {
        let transcript = Transcript(hasProgress: true)
        player.addObserver(transcript)
        player.set(video: Video("a.mp4"), play: false)
        let superseded = player.startSeek(to: .seconds(3))
        let seek = player.startSeek(to: .seconds(6))
        let script = try await scripts.last(player)
        await #expect(throws: CancellationError.self) { try await superseded.reachedPosition }
        let epoch = script.playhead.epoch
        script.open(.film(10))
        await player.settled()
        #expect(script.calls == ["seek 6.0"])
        script.notify(.landed(.zero), of: epoch)
        script.completeSeek()
        #expect(try await seek.reachedPosition == .seconds(6))
        await player.settled()
        #expect(
            transcript.take() == [
                "video a.mp4", "paused, buffering", "duration 10.0", "paused", "ready", "position 6.0",
            ])
    }

    @Test("a seek to the end completes at the end, where there is no frame")
    func toTheEnd() async throws {
        let script = try await opened()
        let seek = player.startSeek(to: .seconds(10))
        script.end()
        #expect(try await seek.reachedPosition == .seconds(10))
        await player.settled()
        #expect(player.overlayState == .stopped && player.position == 10)
        // An end from before a seek is ignored.
        let back = player.startSeek(to: .seconds(1))
        let epoch = PlayheadEpoch(number: script.playhead.epoch.number - 1)
        script.notify(.ended, of: epoch)
        script.completeSeek()
        #expect(try await back.reachedPosition == .seconds(1))
        await player.settled()
        #expect(player.overlayState == .paused)
    }

    @Test("a seek fails if the media cannot be seeked, or if playback fails")
    func failing() async throws {
        await #expect(throws: PlaybackError.notSeekable) { try await player.seek(to: 1) }
        let script = try await opened(ContentOverview(kind: .live, tracks: [.video]))
        await #expect(throws: PlaybackError.notSeekable) { try await player.seek(to: 1) }
        await #expect(throws: PlaybackError.notSeekable) { try await player.seekToLiveEdge() }
        #expect(script.calls == ["play"] && player.state.isPlaying)
        let second = try await opened()
        // There is no wall-clock time.
        await #expect(throws: PlaybackError.notSeekable) {
            try await player.seek(to: WallTime(millisecondsSinceEpoch: 0))
        }
        let seek = player.startSeek(to: .seconds(1))
        let error = PlaybackError.brokeOff("a.mp4", reason: "gone")
        second.notify(.failed(error))
        await #expect(throws: error) { try await seek.reachedPosition }
        await #expect(throws: PlaybackError.notSeekable) { try await player.seek(to: 1) }
    }

    @Test("another video or the end of the player cancels a seek, and a waiting task may be cancelled alone")
    func cancelled() async throws {
        let script = try await opened()
        let seek = player.startSeek(to: .seconds(1))
        let waiting = Task { try await seek.reachedPosition }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        script.completeSeek()
        #expect(try await seek.reachedPosition == .seconds(1))
        let replaced = player.startSeek(to: .seconds(2))
        player.set(video: Video("b.mp4"), play: false)
        await #expect(throws: CancellationError.self) { try await replaced.reachedPosition }
        let early = player.startSeek(to: .seconds(2))
        player.reset()
        await #expect(throws: CancellationError.self) { try await early.reachedPosition }
    }

    @Test("numbers that are not valid times have no effect")
    func numbers() async throws {
        let script = try await opened()
        for (seconds, landed) in [(Double.nan, 0.0), (-.infinity, 0), (.infinity, 10), (-1e300, 0), (3.5, 3.5)] {
            async let seek = player.seek(to: seconds)
            while script.playhead.isSeeking == false { await Task.yield() }
            script.completeSeek()
            #expect(try await seek == landed)
        }
    }
}
