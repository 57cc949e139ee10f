import PCast
import PCastPlayback

/// Forwards events to a consumer with Brightcove's functions. Consumers are called sequentially, which makes the
/// unchecked property safe.
final class BasicConsumerAdapter: PlaybackSessionConsumer {
    nonisolated(unsafe) private let consumer: any BCOVPlaybackSessionBasicConsumer

    init(_ consumer: any BCOVPlaybackSessionBasicConsumer) { self.consumer = consumer }

    func didAdvance(to session: PlaybackSession) { consumer.didAdvance(to: session) }

    func session(_ session: PlaybackSession, didChangeDuration duration: TimeSpan?) {
        consumer.playbackSession(session, didChangeDuration: duration?.seconds ?? .infinity)
    }

    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {
        consumer.playbackSession(session, didChangeExternalPlaybackActive: isActive)
    }

    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        consumer.playbackSession(
            session,
            didPassCuePoints: [
                kBCOVPlaybackSessionEventKeyPreviousTime: cuePoints.previous.seconds,
                kBCOVPlaybackSessionEventKeyCurrentTime: cuePoints.current.seconds,
                kBCOVPlaybackSessionEventKeyCuePoints: cuePoints.cuePoints,
            ])
    }

    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        consumer.playbackSession(session, didProgressTo: progress.seconds)
    }

    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {
        consumer.playbackSession(session, didReceive: BCOVPlaybackSessionLifecycleEvent(event: lifecycleEvent))
    }

    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<TimeSpan>]) {
        consumer.playbackSession(
            session, didChangeSeekableRanges: seekableRanges.map { $0.lowerBound.seconds...$0.upperBound.seconds })
    }

    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {
        consumer.playbackSession(session, determinedMediaType: mediaType)
    }

    func didCompletePlaylist(_ playlist: [Video]) { consumer.didCompletePlaylist(playlist) }
}
