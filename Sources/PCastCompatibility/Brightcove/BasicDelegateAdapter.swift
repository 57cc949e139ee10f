import PCast
import PCastPlayback

/// Forwards events to a delegate with Brightcove's functions, through the adapter of consumers. It retains the delegate
/// and the controller weakly.
final class BasicDelegateAdapter: PlaybackSessionConsumer {
    private let forwarding: Forwarding
    private let consumer: BasicConsumerAdapter

    init(_ delegate: any BCOVPlaybackControllerBasicDelegate, of controller: BCOVPlaybackController) {
        forwarding = Forwarding(delegate, controller)
        consumer = BasicConsumerAdapter(forwarding)
    }

    /// The delegate; nil after it was released.
    var delegate: (any BCOVPlaybackControllerBasicDelegate)? { forwarding.delegate }

    func didAdvance(to session: PlaybackSession) { consumer.didAdvance(to: session) }

    func session(_ session: PlaybackSession, didChangeDuration duration: TimeSpan?) {
        consumer.session(session, didChangeDuration: duration)
    }

    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {
        consumer.session(session, didChangeExternalPlaybackActive: isActive)
    }

    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        consumer.session(session, didPass: cuePoints)
    }

    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        consumer.session(session, didProgressTo: progress)
    }

    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {
        consumer.session(session, didReceive: lifecycleEvent)
    }

    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<TimeSpan>]) {
        consumer.session(session, didChangeSeekableRanges: seekableRanges)
    }

    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {
        consumer.session(session, determinedMediaType: mediaType)
    }

    func didCompletePlaylist(_ playlist: [Video]) { consumer.didCompletePlaylist(playlist) }
}

/// Calls the delegate with its controller. Consumers are called sequentially, which makes the unchecked conformance
/// safe.
private final class Forwarding: BCOVPlaybackSessionBasicConsumer, @unchecked Sendable {
    private(set) weak var delegate: (any BCOVPlaybackControllerBasicDelegate)?
    private weak var controller: BCOVPlaybackController?

    init(_ delegate: any BCOVPlaybackControllerBasicDelegate, _ controller: BCOVPlaybackController) {
        (self.delegate, self.controller) = (delegate, controller)
    }

    func didAdvance(to session: BCOVPlaybackSession!) {
        delegate?.playbackController(controller, didAdvanceTo: session)
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: Double) {
        delegate?.playbackController(controller, playbackSession: session, didChangeDuration: duration)
    }

    func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {
        delegate?.playbackController(
            controller, playbackSession: session, didChangeExternalPlaybackActive: externalPlaybackActive)
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!) {
        delegate?.playbackController(controller, playbackSession: session, didPassCuePoints: cuePointInfo)
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: Double) {
        delegate?.playbackController(controller, playbackSession: session, didProgressTo: progress)
    }

    func didCompletePlaylist(_ playlist: [BCOVVideo]!) {
        delegate?.playbackController(controller, didCompletePlaylist: playlist)
    }

    func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {
        delegate?.playbackController(controller, playbackSession: session, didReceive: lifecycleEvent)
    }

    func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!) {
        delegate?.playbackController(controller, playbackSession: session, didChangeSeekableRanges: seekableRanges)
    }

    func playbackSession(_ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType) {
        delegate?.playbackController(controller, playbackSession: session, determinedMediaType: mediaType)
    }
}
