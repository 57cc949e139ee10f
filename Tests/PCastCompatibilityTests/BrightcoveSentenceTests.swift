import Foundation
import PCastCompatibility
import Testing

@testable import PCastPlayback

/// The sentences of Brightcove's page about the basic consumer of sessions, each with a call.
@Suite("BCOVPlaybackSessionBasicConsumer")
struct BrightcoveSentenceTests {
    private let pipelines = Pipelines()
    private let consumer = Consumer()
    private let playbackController: BCOVPlaybackController
    private var player: Player { playbackController.controller.player }

    init() {
        playbackController = BCOVPlaybackController(pipelines.factory)
        playbackController.isAutoPlay = true
        playbackController.add(consumer)
    }

    /// A consumer that notes all progress, too.
    private final class Consumer: SessionConsumer {
        var events: [String] { received }

        override func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: TimeInterval) {
            received.append("progress \(progress)")
        }

        override func playbackSession(
            _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
        ) {
            received.append(
                "lifecycle \(lifecycleEvent.eventType.dropFirst("kBCOVPlaybackSessionLifecycleEvent".count))")
        }

        override func playbackSession(
            _ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType
        ) {
            received.append("media type \(mediaType)")
        }
    }

    private static func video(_ address: String = "https://origin.example/a.mp4", cuePoints: [Int64] = []) -> BCOVVideo
    {
        BCOVVideo(
            sources: [BCOVSource(address)],
            cuePoints: BCOVCuePointCollection(cuePoints.map { BCOVCuePoint(at: .seconds($0)) }))
    }

    /// Plays the videos; the first is open and lasts so many seconds.
    private func play(_ videos: [BCOVVideo], seconds: Int64 = 60) async throws -> Pipeline {
        playbackController.setVideos(videos)
        let pipeline = try #require(await pipelines.last(player))
        pipeline.open(seconds: seconds)
        await player.settled()
        return pipeline
    }

    /// Seeks, and returns when the frame is shown.
    private func seek(_ pipeline: Pipeline, to time: Double) async {
        await withCheckedContinuation { continuation in
            playbackController.seek(to: time) { _ in continuation.resume() }
            pipeline.completeSeek()
        }
        await player.settled()
    }

    private func received(_ kind: String, _ consumer: Consumer? = nil) -> [String] {
        (consumer ?? self.consumer).events.filter { $0.hasPrefix(kind) }
    }

    /// Adds a consumer while something is played; returns what it is called with at once.
    private func addedLate() async -> [String] {
        let late = Consumer()
        playbackController.add(late)
        await player.settled()
        playbackController.remove(late)
        return late.events
    }

    // MARK: didAdvanceToPlaybackSession

    @Test("Called when the controller advances to a new playback session, which happens when -advanceToNext is called.")
    func advances() async throws {
        _ = try await play([Self.video(), Self.video("https://origin.example/b.mp4")])
        let first = try #require(consumer.session)
        playbackController.advanceToNext()
        await player.settled()
        #expect(received("advanced").count == 2 && consumer.session !== first)
        #expect(consumer.session.video.sources.map(\.address) == ["https://origin.example/b.mp4"])
    }

    @Test(
        "When added as a session consume on a playback controller, this method is called with the most recently advanced-to playback session"
    )
    func advancedAtOnce() async throws {
        _ = try await play([Self.video()])
        let late = Consumer()
        playbackController.add(late)
        await player.settled()
        #expect(late.events.first == "advanced" && late.session === consumer.session)
    }

    // MARK: didChangeDuration

    @Test(
        "Called when a playback session’s duration is updated. A session duration can change as the media playback continues to load"
    )
    func duration() async throws {
        let pipeline = try await play([Self.video()])
        pipeline.change(duration: 61)
        await player.settled()
        #expect(received("duration") == ["duration 60.0", "duration 61.0"])
    }

    @Test(
        "When added as a session consume on a playback controller, this method is called with the most recently updated duration for the session."
    )
    func durationAtOnce() async throws {
        let pipeline = try await play([Self.video()])
        pipeline.change(duration: 61)
        await player.settled()
        #expect(await addedLate().filter { $0.hasPrefix("duration") } == ["duration 61.0"])
    }

    // MARK: didChangeExternalPlaybackActive

    /// A device that plays what it is given.
    private final class Device: ExternalPlayback {
        func start(_ session: PlaybackSession) async throws {}
        func stop(_ session: PlaybackSession) async {}
    }

    @Test("Called when a playback session’s external playback active status is updated.")
    func externalPlayback() async throws {
        _ = try await play([Self.video()])
        playbackController.allowsExternalPlayback = true
        try await player.startExternalPlayback(Device())
        await player.settled()
        #expect(received("external") == ["external true"])
        await player.stopExternalPlayback()
        await player.settled()
        #expect(received("external") == ["external true", "external false"])
    }

    // MARK: didPassCuePoints

    @Test(
        "Called when a session’s playhead passes cue points registered with its video, regardless of whether for standard progress (playback), or seeking (forward or backward)"
    )
    func passes() async throws {
        let pipeline = try await play([Self.video(cuePoints: [2, 10])])
        pipeline.run(seconds: 3)
        await player.settled()
        #expect(received("1 from") == ["1 from 0.0 to 3.0"])
        await seek(pipeline, to: 20)
        await seek(pipeline, to: 5)
        #expect(received("1 from") == ["1 from 0.0 to 3.0", "1 from 3.0 to 20.0", "1 from 20.0 to 5.0"])
    }

    @Test(
        "all cue points after the “previous time” and before or on “current time” will be included in the cue point collection"
    )
    func bounds() async throws {
        let pipeline = try await play([Self.video(cuePoints: [2, 3, 4, 5])])
        pipeline.run(seconds: 2)
        await player.settled()
        pipeline.run(seconds: 2)
        await player.settled()
        #expect(consumer.events.filter { $0.contains(" from ") } == ["1 from 0.0 to 2.0", "2 from 2.0 to 4.0"])
    }

    @Test("multiple cue points at the same time are aggregated into a single cue point event")
    func sameTime() async throws {
        let pipeline = try await play([Self.video(cuePoints: [2, 2, 2])])
        pipeline.run(seconds: 3)
        await player.settled()
        #expect(consumer.events.filter { $0.contains(" from ") } == ["3 from 0.0 to 3.0"])
    }

    @Test(
        "seeking across a time range that includes multiple cue points will result in a single cue point event whose previous time is the point at which seek began, whose current time is the destination of the seek"
    )
    func seekAcross() async throws {
        let pipeline = try await play([Self.video(cuePoints: [5, 10, 15, 40])])
        pipeline.run(seconds: 1)
        await player.settled()
        await seek(pipeline, to: 20)
        #expect(consumer.events.filter { $0.contains(" from ") } == ["3 from 1.0 to 20.0"])
    }

    // MARK: didProgressTo

    @Test("As the session’s media plays, this method is called periodically with the latest progress interval.")
    func progress() async throws {
        let pipeline = try await play([Self.video()])
        for _ in 0..<3 {
            pipeline.run(seconds: 1)
            await player.settled()
        }
        #expect(
            received("progress") == ["progress -inf", "progress 0.0", "progress 1.0", "progress 2.0", "progress 3.0"])
    }

    // MARK: didCompletePlaylist

    @Test(
        "Called when the end of the video playlist has been reached. Only called when autoAdvance is set to YES on the playback controller.",
        arguments: [true, false])
    func completed(_ isAutoAdvance: Bool) async throws {
        playbackController.isAutoAdvance = isAutoAdvance
        let pipeline = try await play([Self.video()], seconds: 4)
        pipeline.run(seconds: 4)
        pipeline.end()
        await player.settled()
        #expect(received("completed") == (isAutoAdvance ? ["completed 1"] : []))
    }

    // MARK: didReceiveLifecycleEvent

    @Test("Called when a playback session receives a lifecycle event.")
    func lifecycle() async throws {
        let pipeline = try await play([Self.video()], seconds: 4)
        playbackController.pause()
        playbackController.play()
        pipeline.end()
        await player.settled()
        let events = received("lifecycle").map { $0.dropFirst("lifecycle ".count) }
        for event in ["Ready", "PlayRequest", "Play", "PauseRequest", "Pause", "End"] {
            #expect(events.contains { $0 == event }, "\(event) is not in \(events)")
        }
    }

    // MARK: didChangeSeekableRanges

    @Test(
        "Called when a playback session’s seekable ranges is updated. A session seekable ranges can change as the media playback continues to load."
    )
    func seekableRanges() async throws {
        let pipeline = try await play([Self.video()])
        pipeline.change(duration: 61)
        await player.settled()
        #expect(received("ranges") == ["ranges 0.0...60.0", "ranges 0.0...61.0"])
        // When added as a session consumer, it is called with the most recent ones.
        #expect(await addedLate().filter { $0.hasPrefix("ranges") } == ["ranges 0.0...61.0"])
    }

    // MARK: determinedMediaType

    @Test("Called when the media type of a source has been determined.")
    func mediaType() async throws {
        _ = try await play([Self.video("https://origin.example/radio.m3u8")])
        #expect(received("media type") == ["media type audioVideo"])
    }

    @Test(
        "MP4 sources will always be marked as BCOVSourceMediaTypeAudioVideo. If the source URL does not have an m3u8 extension or can not be parsed then BCOVSourceMediaTypeAudioVideo will be used.",
        arguments: ["https://origin.example/song.mp4", "https://origin.example/song", "::song"])
    func alwaysAudioVideo(_ address: String) async throws {
        playbackController.setVideos([Self.video(address)])
        let pipeline = try #require(await pipelines.last(player))
        pipeline.open(seconds: 4, isAudioOnly: true)
        await player.settled()
        #expect(received("media type") == ["media type audioVideo"])
        // A playlist contains audio and video.
        playbackController.setVideos([Self.video("https://origin.example/song.m3u8")])
        try #require(await pipelines.last(player)).open(seconds: 4, isAudioOnly: true)
        await player.settled()
        #expect(received("media type").last == "media type audio")
    }
}
