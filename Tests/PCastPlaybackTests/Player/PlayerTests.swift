import Dispatch
import PCastCore
import PCastRendering
import Testing

@testable import PCastPlayback

@Suite("A player")
struct PlayerTests {
    private let scripts = ScriptedPipelines()
    private let transcript = Transcript()
    private let player: Player

    init() {
        player = Player(scripts.factory)
        player.addObserver(transcript)
    }

    private func received() async -> [String] {
        await player.settled()
        return transcript.take()
    }

    @Test("a video can be set, played, paused, seeked, toggled and played to its end")
    func whole() async throws {
        #expect(player.state == .idle && player.video == nil && player.position == 0 && player.duration == 0)
        player.set(video: Video("a.mp4"), play: false)
        #expect(player.state == .paused(buffering: true) && player.video == Video("a.mp4"))
        let script = try await scripts.last(player)
        #expect(await received() == ["video a.mp4", "paused, buffering"])
        script.open(.film(10))
        script.completeSeek()
        #expect(await received() == ["duration 10.0", "paused", "ready"])
        #expect(player.duration == 10 && player.bufferedPosition == 5 && !player.state.isPlaying)

        player.play()
        #expect(player.state.isPlaying)
        script.run(2)
        #expect(await received() == ["playing"] && player.position == 2)
        player.pause()
        script.run(1)
        #expect(await received() == ["paused"] && player.position == 2)

        let seek = player.startSeek(to: .seconds(6))
        #expect(player.state == .paused(buffering: true) && player.position == 6 && player.overlayState == .seeking)
        script.completeSeek()
        #expect(try await seek.reachedPosition == .seconds(6))
        #expect(await received() == ["paused, buffering", "paused"])

        player.toggle()
        script.run(4)
        #expect(await received() == ["playing"] && player.state.isPlaying)
        script.end()
        #expect(await received() == ["paused", "finished"] && player.position == 10)
        #expect(player.overlayState == .stopped)

        // From its end the video plays again from its beginning.
        player.toggle()
        #expect(script.calls.suffix(2) == ["seek 0.0", "play"])
        script.completeSeek()
        #expect(await received() == ["paused, buffering", "playing, buffering", "playing"])
        player.stop()
        script.completeSeek()
        #expect(await received() == ["paused", "paused, buffering", "paused"])
        #expect(script.calls.suffix(2) == ["pause", "seek 0.0"] && player.position == 0)
        player.reset()
        #expect(player.state == .idle && player.video == nil)
        #expect(await received() == ["video none", "idle"] && script.isStopped)
    }

    @Test("each frame updates the position, in seconds")
    func positions() async throws {
        let transcript = Transcript(hasProgress: true)
        player.addObserver(transcript)
        player.set(video: Video("a.mp4"), play: true)
        let script = try await scripts.last(player)
        script.open(.film(1))
        script.completeSeek()
        await player.settled()
        _ = transcript.take()
        var expected: [String] = []
        for tenth in 1...5 {
            script.run(0.1)
            await player.settled()
            expected.append("position \(Double(tenth) / 10)")
        }
        #expect(transcript.take() == expected)
        script.end()
        await player.settled()
        // The end is that of the media.
        #expect(transcript.take() == ["position 1.0", "paused", "finished"])
    }

    @Test("live media that ends stays at the position of its end, which is not its duration")
    func liveEnd() async throws {
        player.set(video: Video("a.m3u8"), play: true)
        let script = try await scripts.last(player)
        var overview = ContentOverview(
            kind: .live, tracks: [.video, .audio], seekableRange: .seconds(17)...(.seconds(22)))
        script.open(overview)
        script.completeSeek(at: .seconds(22))
        script.run(2)
        (overview.kind, overview.duration, overview.seekableRange) = (
            .onDemand, .seconds(7), .seconds(17)...(.seconds(24))
        )
        script.open(overview)
        script.end()
        await player.settled()
        #expect(player.state == .paused(buffering: false) && player.position == 24 && player.duration == 7)
        #expect(!transcript.take().contains("position 7.0"))
    }

    @Test("observers are held weakly and notified once, however often they are added, until they are removed")
    func observers() async throws {
        weak var gone: Transcript?
        do {
            let observer = Transcript()
            player.addObserver(observer)
            player.muted = true
            await player.settled()
            #expect(observer.take() == ["muted true"])
            gone = observer
        }
        #expect(gone == nil)
        player.addObserver(transcript)
        player.muted = false
        #expect(await received() == ["muted true", "muted false"])
        player.removeObserver(transcript)
        player.muted = true
        #expect(await received() == [])
        player.addObserver(transcript)
        player.muted = false
        #expect(await received() == ["muted false"])
    }

    /// Sends commands while it is notified, and removes itself when it is released.
    private final class Commander: PlayerObserver {
        let player: Player

        init(_ player: Player) { self.player = player }

        deinit { player.removeObserver(self) }

        func playerPlaybackReady() { player.play() }
        func playerPlaybackFinished() { player.set(video: Video("next.mp4"), play: false) }
    }

    @Test("an observer may send commands")
    func commanding() async throws {
        let commander = Commander(player)
        player.addObserver(commander)
        player.set(video: Video("a.mp4"), play: false)
        let script = try await scripts.last(player)
        script.open(.film(1))
        script.completeSeek()
        await player.settled()
        #expect(player.state.isPlaying)
        script.end()
        await player.settled()
        #expect(player.video == Video("next.mp4"))
        withExtendedLifetime(commander) {}
    }

    @Test("settings persist over items, are clamped, and report their changes")
    func settings() async throws {
        player.muted = true
        player.muted = true
        player.volume = 7
        player.volume = .nan
        player.speed = 9
        player.aspectMode = .letterbox
        #expect(player.volume == 1 && player.speed == 4)
        #expect(await received() == ["muted true", "aspect letterbox"])
        player.set(video: Video("a.mp4"), play: false)
        let first = try await scripts.last(player)
        #expect(first.isMuted && first.volume == 1 && first.calls == ["rate 4.0"])
        player.volume = 0.25
        player.speed = -1
        player.muted = false
        #expect(player.speed == 1 && first.calls.last == "rate 1.0" && first.volume == 0.25 && !first.isMuted)
        player.set(video: Video("b.mp4"), play: true)
        let second = try await scripts.last(player)
        #expect(first.isStopped && second.volume == 0.25 && !second.isMuted && second.calls == ["play"])
    }

    @Test("the aspect mode is that of the surface, and a change applies to the frame that it displays")
    func aspectMode() throws {
        let surface = MemorySurface(
            dimensions: Dimensions(width: 64, height: 64), arrangement: FrameArrangement(aspectRatioMode: .letterbox))
        let player = Player(.media(playsAudio: false, shownOn: surface))
        #expect(player.aspectMode == .letterbox)
        surface.show(Self.grey())
        func blackRows() throws -> Int {
            let image = try #require(surface.image())
            return (0..<image.dimensions.height).count { row in
                image.bytes[row * image.stride..<(row + 1) * image.stride].allSatisfy { $0 == 0 }
            }
        }
        #expect(try blackRows() == 28)
        player.aspectMode = .fill
        #expect(try blackRows() == 0)
        player.aspectMode = .letterbox
        #expect(try blackRows() == 28)
    }

    /// Returns a grey frame of 64 by 36 pixels.
    private static func grey() -> VideoFrame {
        let dimensions = Dimensions(width: 64, height: 36)
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(dimensions).byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 126)
        return VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory,
            release: { $0.deallocate() })
    }

    @Test("tracks are selected among the available ones, and subtitles are reported as they are shown")
    func tracks() async throws {
        #expect(throws: PlaybackError.noTrack("s")) { try player.select(.init(rawValue: "s"), of: .subtitles) }
        player.set(video: Video("a.mkv"), play: true)
        let script = try await scripts.last(player)
        script.open(.film(9, tracks: [.video, .audio, .subtitles]))
        script.completeSeek()
        _ = await received()
        #expect(player.tracks == [.video, .audio, .subtitles] && player.selectedTracks.isEmpty)
        try player.select(ContentTrack.subtitles.id, of: .subtitles)
        try player.select(nil, of: .audio)
        #expect(script.calls.suffix(2) == ["select subtitles s", "select audio none"])
        #expect(throws: PlaybackError.noTrack("s")) { try player.select(ContentTrack.subtitles.id, of: .audio) }
        script.notify(.subtitle("Hello"))
        script.notify(.subtitle("Hello"))
        #expect(await received() == ["subtitle Hello"] && player.subtitle == "Hello")
        // A seek removes the subtitle, and subtitles from before are not reported later.
        let before = script.playhead.epoch
        let seek = player.startSeek(to: .seconds(5))
        script.notify(.subtitle("Late"), of: before)
        script.completeSeek()
        _ = try await seek.reachedPosition
        #expect(await received() == ["subtitle none", "playing, buffering", "playing"])
        script.notify(.subtitle("Bye"))
        #expect(await received() == ["subtitle Bye"])
        player.set(video: Video("b.mp4"), play: false)
        #expect(await received().contains("subtitle none"))
    }

    @Test("a list is played to its end, and a looping player begins again with another session")
    func lists() async throws {
        player.set(videos: [Video("a.mp4"), Video("b.mp4")], play: true)
        for expected in ["a.mp4", "b.mp4"] {
            let script = try await scripts.last(player)
            #expect(script.source.address == expected && player.state == .playing(buffering: true))
            script.open(.film(1))
            script.completeSeek()
            script.end()
        }
        await player.settled()
        #expect(player.video == Video("b.mp4") && player.index == 1 && !player.advanceToNext())
        player.loop = true
        let last = try await scripts.last(player)
        player.play()
        last.completeSeek()
        last.end()
        #expect(try await scripts.last(player).source.address == "a.mp4")
        #expect(player.state == .playing(buffering: true) && player.index == 0)

        player.set(videos: [Video("c.mp4"), Video("d.mp4")], index: 7, play: true)
        #expect(player.video == Video("d.mp4"))
        player.set(video: Video("c.mp4"), play: true)
        let session = try #require(player.session)
        let one = try await scripts.last(player)
        one.open(.film(1))
        for _ in 0..<3 {
            one.completeSeek()
            one.end()
            await player.settled()
            #expect(player.session === session && player.state == .playing(buffering: true))
        }
        #expect(one.calls == ["play"] + Array(repeating: ["seek 0.0", "play"], count: 3).flatMap { $0 })
    }

    @Test("a stream of events has all events except positions in order, and a stream of positions the newest one")
    func streams() async throws {
        var events = player.events().makeAsyncIterator()
        var positions = player.positions().makeAsyncIterator()
        player.set(video: Video("a.mp4"), play: true)
        let script = try await scripts.last(player)
        script.open(.film(9))
        script.completeSeek()
        script.run(3)
        await player.settled()
        #expect(await positions.next() == .seconds(3))
        script.notify(.dimensions(Dimensions(width: 640, height: 360)))
        await player.settled()
        var kinds: [PlayerEvent.Kind] = []
        while kinds.last != .dimensionsChanged(Dimensions(width: 640, height: 360)), let event = await events.next() {
            #expect(event.session === player.session)
            kinds.append(event.kind)
        }
        #expect(
            kinds == [
                .videoChanged(Video("a.mp4")), .stateChanged(.paused(buffering: true)), .lifecycle(.bufferEmpty),
                .stateChanged(.playing(buffering: true)), .lifecycle(.playRequest), .lifecycle(.play),
                .mediaTypeDetermined(.audioVideo), .durationChanged(.seconds(9)),
                .seekableRangesChanged([.zero ... .seconds(9)]),
                .tracksChanged([.video, .audio], selected: []), .stateChanged(.playing(buffering: false)),
                .lifecycle(.ready), .ready, .progressed(.beforeBeginning), .lifecycle(.likelyToKeepUp),
                .dimensionsChanged(Dimensions(width: 640, height: 360)),
            ])
    }

    @Test("a reader that stops reading is eventually no longer notified, and causes no delay")
    func slowReader() async {
        let events = player.events()
        for step in 0..<5_000 { player.muted = step.isMultiple(of: 2) }
        var count = 0
        for await _ in events { count += 1 }
        #expect(count == 4_096)
        #expect(await received().count == 5_000)
    }

    @Test("releasing a player releases its pipeline and its listeners")
    func releasesPipelineAndListeners() async throws {
        var player: Player? = Player(scripts.factory)
        let events = try #require(player).events()
        player?.set(video: Video("a.mp4"), play: true)
        let script = try await scripts.last(#require(player))
        weak let gone = player
        let engine = try #require(player).engine
        player = nil
        #expect(gone == nil)
        for await _ in events {}
        await withCheckedContinuation { continuation in engine.async { continuation.resume() } }
        #expect(script.isStopped)
    }
}
