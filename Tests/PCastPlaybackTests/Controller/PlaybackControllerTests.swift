import PCastCore
import Testing

@testable import PCastPlayback

@Suite("A controller and its sessions")
struct PlaybackControllerTests {
    private let scripts = ScriptedPipelines()
    private let transcript: Transcript
    private let controller: PlaybackController

    init() {
        transcript = Transcript(hasProgress: true)
        controller = PlaybackController(scripts.factory)
        controller.addSessionConsumer(transcript)
    }

    private func received() async -> [String] {
        await controller.player.settled()
        return transcript.take()
    }

    @Test("one item causes the specified events from beginning to end")
    func order() async throws {
        controller.autoPlay = true
        controller.autoAdvance = true
        let video = Video("a.mp4", cuePoints: [.beforeContent(), CuePoint(at: .seconds(1)), .afterContent()])
        controller.setVideos([video])
        let script = try await scripts.last(controller.player)
        #expect(await received() == ["session of a.mp4", "+ bufferEmpty", "+ playRequest", "+ play"])
        let observer = Transcript(hasProgress: true)
        controller.player.addObserver(observer)
        script.open(.film(1.5))
        script.completeSeek()
        #expect(
            await received() == [
                "media type 2", "session's duration 1.5", "ranges 0.0...1.5", "+ ready", "progress -inf",
                "+ likelyToKeepUp", "progress 0.0", "cue points 0.0 from -inf to 0.0",
            ])
        for _ in 0..<10 {
            script.run(0.1)
            await controller.player.settled()
        }
        #expect(transcript.take().suffix(2) == ["progress 1.0", "cue points 1.0 from 0.9 to 1.0"])
        script.end()
        #expect(
            await received() == [
                "progress 1.5", "progress inf", "cue points inf from 1.5 to inf", "+ end", "playlist of 1 completed",
            ])
        #expect(observer.take().suffix(3) == ["position 1.5", "paused", "finished"])
        controller.setVideos([Video("b.mp4")])
        #expect(await received().prefix(3) == ["+ terminate", "session of b.mp4", "+ bufferEmpty"])
    }

    @Test("a list advances automatically or on request, with a new session for each playback")
    func playlist() async throws {
        let same = Video("same.mp4")
        controller.setVideos([same, same])
        let first = try #require(controller.session)
        #expect(first.playerState == .paused(buffering: true))
        var script = try await scripts.last(controller.player)
        script.open(.film(1))
        script.completeSeek()
        controller.play()
        script.end()
        _ = await received()
        // Without `autoAdvance` nothing happens.
        #expect(controller.session === first && first.playerState == .paused(buffering: false))
        #expect(controller.advanceToNext() && !controller.advanceToNext())
        let second = try #require(controller.session)
        #expect(second !== first && second.id != first.id && second.video == first.video && first != second)
        #expect(await received() == ["+ terminate", "session of same.mp4", "+ bufferEmpty"])
        #expect(first.playerState == .idle && first.duration == .seconds(1))

        // An item that is inserted after the current one is played next.
        #expect(controller.insert(Video("end.mp4"), afterVideoAt: 1))
        #expect(controller.insert(Video("begin.mp4"), afterVideoAt: -1) == false)
        #expect(!controller.insert(Video("beyond.mp4"), afterVideoAt: 3))
        #expect(controller.insert(Video("before.mp4"), afterVideoAt: 0) && controller.player.index == 2)
        controller.autoAdvance = true
        controller.autoPlay = true
        script = try await scripts.last(controller.player)
        script.open(.film(1))
        script.completeSeek()
        controller.play()
        script.end()
        script.notify(.ended)
        script = try await scripts.last(controller.player)
        #expect(script.source.address == "end.mp4" && scripts.all.count == 3)
        #expect(controller.session?.playerState == .playing(buffering: true))
        script.open(.film(1))
        script.completeSeek()
        script.end()
        #expect(await received().last == "playlist of 4 completed")
        #expect(scripts.all.map(\.isStopped) == [true, true, false])
    }

    @Test("the media type is determined by the rule, and audio only by a playlist without other media")
    func mediaTypes() async throws {
        let audio = ContentOverview(kind: .onDemand, tracks: [.audio], duration: .seconds(1))
        let both = ContentOverview.film(1)
        let cases: [(String, ContentOverview, SourceMediaType)] = [
            ("https://a.example/film.mp4", both, .audioVideo), ("https://a.example/sound.mp4", audio, .audioVideo),
            ("https://a.example/main.m3u8?token=x.mp4", both, .audioVideo),
            ("https://a.example/radio.M3U8#t", audio, .audio), ("sound.mp3", audio, .audioVideo),
            ("pcast://a.example/stream", audio, .audioVideo),
        ]
        for (address, overview, expected) in cases {
            controller.setVideos([Video(address)])
            let script = try await scripts.last(controller.player)
            #expect(controller.session?.mediaType == .undetermined)
            script.open(overview)
            script.open(overview)
            #expect(await received().count { $0 == "media type \(expected.rawValue)" } == 1)
            #expect(controller.session?.mediaType == expected)
        }
        controller.setVideos([Video("https://a.example/main.m3u8")])
        let script = try await scripts.last(controller.player)
        script.notify(.failed(.brokenPlaylist("main.m3u8", reason: "it is a page")))
        #expect(await received().contains("media type 2"))
    }

    @Test("of several sources the rule selects one")
    func sources() {
        let mp4 = Source("http://a.example/a.mp4")
        let dash = Source("http://a.example/a.mpd")
        let plain = Source("http://a.example/a.m3u8")
        let secure = Source("https://a.example/a.m3u8")
        let named = Source("https://a.example/manifest", deliveryMethod: .hls)
        #expect(Video(sources: [dash, mp4, plain, secure, named]).preferredSource == secure)
        #expect(Video(sources: [mp4, plain, named]).preferredSource == named)
        #expect(Video(sources: [dash, mp4, plain]).preferredSource == plain)
        #expect(Video(sources: [dash, mp4]).preferredSource == mp4)
        #expect(Video(sources: [dash]).preferredSource == dash && Video(sources: []).preferredSource == nil)
        #expect(Playlist([Video("a.mp4"), Video(sources: [])]).playableVideos == [Video("a.mp4")])
    }

    @Test("unplayable media fail with their reason, and the next video can be played")
    func broken() async throws {
        controller.autoPlay = true
        controller.setVideos([Video("broken.xyz"), Video(sources: []), Video("good.mp4")])
        let events = await received()
        #expect(events.prefix(4) == ["session of broken.xyz", "+ bufferEmpty", "+ playRequest", "+ play"])
        #expect(events.count == 5 && events[4].hasPrefix("+ fail") && events[4].contains("loadFailed"))
        #expect(controller.player.state == .idle)
        // An item that failed before it was ready cannot be resumed.
        controller.advanceToNext()
        #expect(await received().last?.contains("noPlayableSource") == true)
        controller.advanceToNext()
        let script = try await scripts.last(controller.player)
        script.open(.film(1))
        script.completeSeek()
        await controller.player.settled()
        #expect(controller.session?.playerState == .playing(buffering: false))
    }

    @Test("a late consumer receives the current state once, and then only new events")
    func late() async throws {
        controller.setVideos([Video("a.mp4", cuePoints: [CuePoint(at: .zero), CuePoint(at: .seconds(2))])])
        let early = Transcript(hasProgress: true)
        controller.addSessionConsumer(early)
        #expect(await received() == ["session of a.mp4", "+ bufferEmpty"])
        #expect(early.take() == ["session of a.mp4", "elsewhere false"])
        let script = try await scripts.last(controller.player)
        script.open(.film(3))
        script.completeSeek()
        controller.play()
        script.run(1)
        _ = await received()
        let late = Transcript(hasProgress: true)
        controller.addSessionConsumer(late)
        controller.addSessionConsumer(late)
        await controller.player.settled()
        #expect(
            late.take() == [
                "session of a.mp4", "media type 2", "session's duration 3.0", "ranges 0.0...3.0", "elsewhere false",
            ])
        for _ in 0..<10 {
            script.run(0.1)
            await controller.player.settled()
        }
        let passage = "cue points 2.0 from 1.9 to 2.0"
        #expect(late.take().filter { $0.hasPrefix("cue") } == [passage])
        #expect(early.take().filter { $0.hasPrefix("cue") } == ["cue points 0.0 from -inf to 0.0", passage])
        // Durations and ranges are refined repeatedly.
        script.open(.film(3.2))
        #expect(await received().suffix(2) == ["session's duration 3.2", "ranges 0.0...3.2"])
        controller.removeSessionConsumer(late)
        _ = late.take()
        controller.pause()
        _ = await received()
        #expect(late.take() == [])
        // Consumers are retained.
        weak var held: Transcript?
        do {
            let consumer = Transcript()
            controller.addSessionConsumer(consumer)
            held = consumer
        }
        #expect(held != nil)
    }

    @Test("a terminated session leaves the player without content")
    func terminated() async throws {
        controller.setVideos([Video("a.mp4")])
        let script = try await scripts.last(controller.player)
        let session = try #require(controller.session)
        session.terminate()
        session.terminate()
        #expect(await received().last == "+ terminate" && controller.session == nil && script.isStopped)
        #expect(controller.player.state == .idle && session.overlayState == .stopped)
        script.open(.film(1))
        #expect(await received() == [])
    }
}
