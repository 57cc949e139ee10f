import PCast
public import PCastPlayback
import Synchronization

/// A controller with Brightcove's functions (Brightcove: `BCOVPlaybackController`). Times are in seconds where
/// Brightcove has a `CMTime`.
public final class BCOVPlaybackController: Sendable {
    /// The controller that does the work.
    public let controller: PlaybackController
    private let adapters = Mutex<[ObjectIdentifier: BasicConsumerAdapter]>([:])
    /// The adapter of the delegate, which retains the delegate weakly.
    private let delegation = Mutex<BasicDelegateAdapter?>(nil)

    /// Creates a controller with Brightcove's functions for another controller.
    public init(_ controller: PlaybackController) { self.controller = controller }

    /// Creates a controller whose players use these pipelines.
    public convenience init(_ pipelines: PipelineFactory) { self.init(PlaybackController(pipelines)) }

    /// Whether the next video begins at the end of a video.
    public var isAutoAdvance: Bool {
        get { controller.autoAdvance }
        set { controller.autoAdvance = newValue }
    }

    /// Whether a video begins to play when it is ready.
    public var isAutoPlay: Bool {
        get { controller.autoPlay }
        set { controller.autoPlay = newValue }
    }

    /// The playback rate; 1 is normal speed.
    public var playbackRate: Double {
        get { controller.playbackRate }
        set { controller.playbackRate = newValue }
    }

    /// Whether the video may be played on an external device.
    public var allowsExternalPlayback: Bool {
        get { controller.allowsExternalPlayback }
        set { controller.allowsExternalPlayback = newValue }
    }

    /// Replaces the playlist; nil for an empty one.
    public func setVideos(_ videos: [BCOVVideo]!) { controller.setVideos(videos ?? []) }

    /// Inserts a video after the video at an index. It has no effect for nil.
    public func insert(_ video: BCOVVideo!, afterVideoAt index: UInt) {
        if let video, let index = Int(exactly: index) { controller.insert(video, afterVideoAt: index) }
    }

    /// Advances to the next video.
    public func advanceToNext() { controller.advanceToNext() }

    /// Starts playback.
    public func play() { controller.play() }

    /// Pauses playback.
    public func pause() { controller.pause() }

    /// Seeks to a time in seconds. The completion handler receives whether the frame of the time was shown.
    public func seek(to time: Double, completionHandler: (@Sendable (Bool) -> Void)! = nil) {
        let seek = controller.player.startSeek(to: Duration(boundedSeconds: time))
        Task { [completionHandler] in
            let hasSucceeded = (try? await seek.reachedPosition) != nil
            completionHandler?(hasSucceeded)
        }
    }

    /// Loads the video again after a failure, at a time in seconds.
    public func resumeVideo(at time: Double, withAutoPlay autoPlay: Bool) {
        controller.player.resume(at: Duration(boundedSeconds: time), playing: autoPlay)
    }

    /// Adds a consumer, which is retained, and notifies it of the present state at once.
    public func add(_ consumer: (any BCOVPlaybackSessionConsumer)!) {
        guard let consumer else { return }
        let adapter = BasicConsumerAdapter(consumer)
        let isNew = adapters.withLock { adapters in
            guard adapters[ObjectIdentifier(consumer)] == nil else { return false }
            adapters[ObjectIdentifier(consumer)] = adapter
            return true
        }
        if isNew { controller.addSessionConsumer(adapter) }
    }

    /// Removes a consumer. It has no effect for an unknown one.
    public func remove(_ consumer: (any BCOVPlaybackSessionConsumer)!) {
        guard let consumer else { return }
        let adapter = adapters.withLock { $0.removeValue(forKey: ObjectIdentifier(consumer)) }
        if let adapter { controller.removeSessionConsumer(adapter) }
    }

    /// The delegate, which receives the events from now on and the present external playback status at once. It is
    /// retained weakly.
    public var delegate: (any BCOVPlaybackControllerDelegate)! {
        get { delegation.withLock { $0?.delegate } }
        set {
            delegation.withLock { delegation in
                delegation = newValue.map { BasicDelegateAdapter($0, of: self) }
                controller.delegate = delegation
            }
        }
    }
}

/// Receives the events of a controller's sessions from the time at which it is set (Brightcove:
/// `BCOVPlaybackControllerBasicDelegate`).
///
/// All functions are optional. Times are in seconds, and the progress is infinite at both ends. Calls are sequential,
/// but on no particular thread.
public protocol BCOVPlaybackControllerBasicDelegate: AnyObject {
    /// The controller has advanced to a session.
    func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!)

    /// The duration has changed. It is infinite for live media without a known end.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: Double)

    /// The external playback status has changed. The present status follows when the delegate is set.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool)

    /// Playback has passed cue points. The keys of the dictionary are `kBCOVPlaybackSessionEventKey…`. Cue points from
    /// before the delegate was set are not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!)

    /// Playback has progressed. Progress from before the delegate was set is not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: Double)

    /// The last video of the playlist has ended.
    func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!)

    /// A lifecycle event has occurred. Events from before the delegate was set are not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!)

    /// The seekable ranges have changed. Each is a `ClosedRange<Double>` where Brightcove has a `CMTimeRange`.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!)

    /// The media type of the session is known.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType)
}

extension BCOVPlaybackControllerBasicDelegate {
    /// Does nothing by default.
    public func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: Double
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: Double
    ) {}
    /// Does nothing by default.
    public func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType
    ) {}
}

/// The delegate of a controller. Brightcove's consists of several protocols, of which this library has the basic one.
public typealias BCOVPlaybackControllerDelegate = BCOVPlaybackControllerBasicDelegate

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

    func session(_ session: PlaybackSession, didChangeDuration duration: Duration?) {
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

    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<Duration>]) {
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
