import Foundation
import PCastCompatibility
import Testing

@testable import PCastPlayback

/// Every method that the seed lists, by the name that Apple's importer gives it.
class SessionConsumer: NSObject, BCOVPlaybackSessionBasicConsumer {
    var told: [String] = []
    var session: BCOVPlaybackSession!

    func didAdvance(to session: BCOVPlaybackSession!) {
        self.session = session
        told.append("advanced")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: TimeInterval) {
        told.append("duration \(duration)")
    }

    func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {
        told.append("external \(externalPlaybackActive)")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!) {
        let previous = cuePointInfo[kBCOVPlaybackSessionEventKeyPreviousTime] as! TimeInterval
        let current = cuePointInfo[kBCOVPlaybackSessionEventKeyCurrentTime] as! TimeInterval
        let cuePoints = cuePointInfo[kBCOVPlaybackSessionEventKeyCuePoints] as! BCOVCuePointCollection
        told.append("\(cuePoints.count) from \(previous) to \(current)")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: TimeInterval) {
        if progress.isFinite == false { told.append("progress \(progress)") }
    }

    func didCompletePlaylist(_ playlist: [BCOVVideo]!) {
        told.append("completed \(playlist.count)")
    }

    func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {
        if lifecycleEvent.eventType == kBCOVPlaybackSessionLifecycleEventReady { told.append("ready") }
        if lifecycleEvent.eventType == kBCOVPlaybackSessionLifecycleEventEnd { told.append("end") }
        if let error = lifecycleEvent.properties[kBCOVPlaybackSessionEventKeyError] { told.append("error \(error)") }
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!) {
        let ranges = seekableRanges.compactMap { $0 as? ClosedRange<TimeInterval> }
        told.append("ranges \(ranges.map { "\($0)" }.joined(separator: " "))")
    }

    func playbackSession(_ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType) {
        if mediaType == .audioVideo { told.append("sound and pictures") }
    }
}

/// Everything is optional.
class PlaylistConsumer: BCOVPlaybackSessionBasicConsumer {
    var completed = 0

    func didCompletePlaylist(_ playlist: [BCOVVideo]!) { completed += 1 }
}

@Suite("What is written for Brightcove")
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
            pipeline.land()
        }
        #expect(hasLanded && consumer.session.video.cuePoints.count == 3)
        pipeline.end()
        await player.settled()
        #expect(
            consumer.told == [
                "advanced", "sound and pictures", "duration 4.0", "ranges 0.0...4.0", "ready", "progress -inf",
                "1 from 0.0 to 1.0", "1 from 1.0 to 3.0", "progress inf", "1 from 4.0 to inf", "end", "completed 1",
            ])
        #expect(other.completed == 1)
        playbackController.remove(consumer)
        consumer.told = []
        playbackController.setVideos([BCOVVideo(sources: [])])
        await player.settled()
        let late = SessionConsumer()
        playbackController.add(late)
        await player.settled()
        #expect(consumer.told == [] && late.told == ["advanced", "external false"])
        playbackController.advanceToNext()
        playbackController.setVideos([BCOVVideo(sources: [])])
        await player.settled()
        #expect(late.told.suffix(2) == ["advanced", "error noPlayableSource"])
    }
}
