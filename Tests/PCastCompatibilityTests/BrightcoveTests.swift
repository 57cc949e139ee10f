import Foundation
import PCastCompatibility
import Testing

@testable import PCastPlayback

/// Every method of the protocol, by the name that Apple's importer gives it.
class SessionConsumer: NSObject, BCOVPlaybackSessionBasicConsumer {
    var received: [String] = []
    var session: BCOVPlaybackSession!

    func didAdvance(to session: BCOVPlaybackSession!) {
        self.session = session
        received.append("advanced")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: TimeInterval) {
        received.append("duration \(duration)")
    }

    func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {
        received.append("external \(externalPlaybackActive)")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!) {
        let previous = cuePointInfo[kBCOVPlaybackSessionEventKeyPreviousTime] as! TimeInterval
        let current = cuePointInfo[kBCOVPlaybackSessionEventKeyCurrentTime] as! TimeInterval
        let cuePoints = cuePointInfo[kBCOVPlaybackSessionEventKeyCuePoints] as! BCOVCuePointCollection
        received.append("\(cuePoints.count) from \(previous) to \(current)")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: TimeInterval) {
        if progress.isFinite == false { received.append("progress \(progress)") }
    }

    func didCompletePlaylist(_ playlist: [BCOVVideo]!) {
        received.append("completed \(playlist.count)")
    }

    func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {
        if lifecycleEvent.eventType == kBCOVPlaybackSessionLifecycleEventReady { received.append("ready") }
        if lifecycleEvent.eventType == kBCOVPlaybackSessionLifecycleEventEnd { received.append("end") }
        if let error = lifecycleEvent.properties[kBCOVPlaybackSessionEventKeyError] {
            received.append("error \(error)")
        }
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!) {
        let ranges = seekableRanges.compactMap { $0 as? ClosedRange<TimeInterval> }
        received.append("ranges \(ranges.map { "\($0)" }.joined(separator: " "))")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType) {
        if mediaType == .audioVideo { received.append("audio and frames") }
    }
}

/// Implements no method, because all are optional.
class PlaylistConsumer: BCOVPlaybackSessionBasicConsumer {
    var completed = 0

    func didCompletePlaylist(_ playlist: [BCOVVideo]!) { completed += 1 }
}

/// Every method of the delegate, by the name that Apple's importer gives it.
class ControllerDelegate: NSObject, BCOVPlaybackControllerDelegate {
    var received: [String] = []
    weak var controller: BCOVPlaybackController!

    func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!) {
        self.controller = controller
        received.append("advanced")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: TimeInterval
    ) {
        received.append("duration \(duration)")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {
        received.append("external \(externalPlaybackActive)")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!
    ) {
        let previous = cuePointInfo[kBCOVPlaybackSessionEventKeyPreviousTime] as! TimeInterval
        let current = cuePointInfo[kBCOVPlaybackSessionEventKeyCurrentTime] as! TimeInterval
        received.append("cue points from \(previous) to \(current)")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: TimeInterval
    ) {
        received.append("progress \(progress)")
    }

    func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!) {
        received.append("completed \(playlist.count)")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {
        received.append("lifecycle \(lifecycleEvent.eventType.dropFirst("kBCOVPlaybackSessionLifecycleEvent".count))")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!
    ) {
        received.append("ranges \(seekableRanges.count)")
    }

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType
    ) {
        received.append("media type \(mediaType)")
    }
}

@Suite("Code for Brightcove's SDK")
struct BrightcoveTests {
    @Test("the methods of the basic consumer are called by the importer's names")
    func basicConsumer() async throws {
        let pipelines = Pipelines()
        let playbackController = BCOVPlaybackController(pipelines.factory)
        let player = playbackController.controller.player
        let (consumer, other) = (SessionConsumer(), PlaylistConsumer())
        playbackController.isAutoAdvance = true
        playbackController.isAutoPlay = true
        playbackController.add(consumer)
        playbackController.add(consumer)
        playbackController.add(other)
        let cuePoints = BCOVCuePointCollection([
            BCOVCuePoint(at: .milliseconds(500)), BCOVCuePoint(at: .seconds(2)), .afterContent(),
        ])
        playbackController.setVideos([
            BCOVVideo(sources: [BCOVSource("https://origin.example/a.mp4")], cuePoints: cuePoints)
        ])
        let pipeline = try #require(await pipelines.last(player))
        pipeline.open(seconds: 4)
        pipeline.run(seconds: 1)
        await player.settled()
        let hasLanded = await withCheckedContinuation { continuation in
            playbackController.seek(to: 3) { continuation.resume(returning: $0) }
            pipeline.completeSeek()
        }
        #expect(hasLanded && consumer.session.video.cuePoints.count == 3)
        pipeline.end()
        await player.settled()
        #expect(
            consumer.received == [
                "advanced", "audio and frames", "duration 4.0", "ranges 0.0...4.0", "ready", "progress -inf",
                "1 from 0.0 to 1.0", "1 from 1.0 to 3.0", "progress inf", "1 from 4.0 to inf", "end", "completed 1",
            ])
        #expect(other.completed == 1)
        playbackController.remove(consumer)
        consumer.received = []
        playbackController.setVideos([BCOVVideo(sources: [])])
        await player.settled()
        let late = SessionConsumer()
        playbackController.add(late)
        await player.settled()
        #expect(consumer.received == [] && late.received == ["advanced", "external false"])
        playbackController.advanceToNext()
        playbackController.setVideos([BCOVVideo(sources: [])])
        await player.settled()
        #expect(late.received.suffix(2) == ["advanced", "error noPlayableSource"])
    }

    /// Returns a controller that has played a second of four. One cue point is passed, and another follows.
    private func playing() async throws -> (BCOVPlaybackController, Pipeline) {
        let pipelines = Pipelines()
        let playbackController = BCOVPlaybackController(pipelines.factory)
        playbackController.isAutoAdvance = true
        playbackController.isAutoPlay = true
        let cuePoints = BCOVCuePointCollection([BCOVCuePoint(at: .milliseconds(500)), BCOVCuePoint(at: .seconds(2))])
        playbackController.setVideos([
            BCOVVideo(sources: [BCOVSource("https://origin.example/a.mp4")], cuePoints: cuePoints)
        ])
        let pipeline = try #require(await pipelines.last(playbackController.controller.player))
        pipeline.open(seconds: 4)
        pipeline.run(seconds: 1)
        await playbackController.controller.player.settled()
        return (playbackController, pipeline)
    }

    @Test(
        "When a delegate is set on a playback controller, it is called with the current external playback active status, and with nothing that has occurred"
    )
    func delegateIsSet() async throws {
        let (playbackController, _) = try await playing()
        let delegate = ControllerDelegate()
        playbackController.delegate = delegate
        await playbackController.controller.player.settled()
        #expect(delegate.received == ["external false"])
        #expect(playbackController.delegate === delegate)
    }

    @Test(
        "When a delegate is set on a playback controller, didPassCuePoints will only be called for future cue point events"
    )
    func delegateCuePoints() async throws {
        let (playbackController, pipeline) = try await playing()
        let delegate = ControllerDelegate()
        playbackController.delegate = delegate
        pipeline.run(seconds: 2)
        await playbackController.controller.player.settled()
        #expect(delegate.received.filter { $0.hasPrefix("cue") } == ["cue points from 1.0 to 3.0"])
    }

    @Test(
        "When a delegate is set on a playback controller, didProgressTo will only be called with progress information that has not yet occurred"
    )
    func delegateProgress() async throws {
        let (playbackController, pipeline) = try await playing()
        let delegate = ControllerDelegate()
        playbackController.delegate = delegate
        pipeline.run(seconds: 1)
        pipeline.end()
        await playbackController.controller.player.settled()
        #expect(
            delegate.received.filter { $0.hasPrefix("progress") } == ["progress 2.0", "progress 4.0", "progress inf"])
        #expect(delegate.received.last == "completed 1")
    }

    @Test("didReceiveLifecycleEvent is called only for lifecycle events that occur after the delegate is set")
    func delegateLifecycle() async throws {
        let (playbackController, pipeline) = try await playing()
        let delegate = ControllerDelegate()
        playbackController.delegate = delegate
        playbackController.pause()
        await playbackController.controller.player.settled()
        #expect(
            delegate.received.filter { $0.hasPrefix("lifecycle") } == ["lifecycle PauseRequest", "lifecycle Pause"],
            "\(delegate.received)")

        // Another delegate replaces it, and only this test holds that one.
        var second: ControllerDelegate? = ControllerDelegate()
        playbackController.delegate = second
        delegate.received = []
        pipeline.end()
        await playbackController.controller.player.settled()
        #expect(delegate.received == [] && second?.received.contains("lifecycle End") == true)
        weak let gone = second
        second = nil
        #expect(gone == nil && playbackController.delegate == nil)
        playbackController.setVideos([BCOVVideo(sources: [])])
        await playbackController.controller.player.settled()
    }

    @Test("a delegate receives everything of the sessions that begin after it was set, and is no consumer")
    func delegateFollows() async throws {
        let pipelines = Pipelines()
        let playbackController = BCOVPlaybackController(pipelines.factory)
        let delegate = ControllerDelegate()
        playbackController.delegate = delegate
        playbackController.setVideos([BCOVVideo(sources: [BCOVSource("https://origin.example/a.mp4")])])
        let pipeline = try #require(await pipelines.last(playbackController.controller.player))
        pipeline.open(seconds: 4)
        await playbackController.controller.player.settled()
        #expect(
            delegate.received == [
                "advanced", "lifecycle PlaybackBufferEmpty", "media type audioVideo", "duration 4.0", "ranges 1",
                "lifecycle Ready", "progress -inf", "lifecycle PlaybackLikelyToKeepUp", "progress 0.0",
            ], "\(delegate.received)")
        #expect(delegate.controller === playbackController)
        delegate.received = []
        playbackController.delegate = nil
        pipeline.run(seconds: 1)
        await playbackController.controller.player.settled()
        #expect(delegate.received == [])
    }
}
