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
        let seek = controller.player.startSeek(to: time)
        Task { [completionHandler] in
            let hasLanded = (try? await seek.reachedPosition) != nil
            completionHandler?(hasLanded)
        }
    }

    /// Loads the video again after a failure, at a time in seconds.
    public func resumeVideo(at time: Double, withAutoPlay autoPlay: Bool) {
        controller.player.resume(at: time, playing: autoPlay)
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
