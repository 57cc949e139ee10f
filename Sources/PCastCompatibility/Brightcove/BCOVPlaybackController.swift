import PCast
public import PCastPlayback
import Synchronization

/// A controller by Brightcove's calls (seed 003). Times are in seconds, where Brightcove has a `CMTime`.
public final class BCOVPlaybackController: Sendable {
    public let controller: PlaybackController
    private let adapters = Mutex<[ObjectIdentifier: BasicConsumerAdapter]>([:])
    /// Holds the adapter of the delegate, which holds the delegate weakly.
    private let delegation = Mutex<BasicDelegateAdapter?>(nil)

    public init(_ controller: PlaybackController) { self.controller = controller }

    public convenience init(_ pipelines: PipelineFactory) { self.init(PlaybackController(pipelines)) }

    public var isAutoAdvance: Bool {
        get { controller.autoAdvance }
        set { controller.autoAdvance = newValue }
    }

    public var isAutoPlay: Bool {
        get { controller.autoPlay }
        set { controller.autoPlay = newValue }
    }

    public var playbackRate: Double {
        get { controller.playbackRate }
        set { controller.playbackRate = newValue }
    }

    public var allowsExternalPlayback: Bool {
        get { controller.allowsExternalPlayback }
        set { controller.allowsExternalPlayback = newValue }
    }

    public func setVideos(_ videos: [BCOVVideo]!) { controller.setVideos(videos ?? []) }

    public func insert(_ video: BCOVVideo!, afterVideoAt index: UInt) {
        if let video, let index = Int(exactly: index) { controller.insert(video, afterVideoAt: index) }
    }

    public func advanceToNext() { controller.advanceToNext() }

    public func play() { controller.play() }

    public func pause() { controller.pause() }

    /// - Parameter completionHandler: is told whether the seek came to its picture.
    public func seek(to time: Double, completionHandler: (@Sendable (Bool) -> Void)! = nil) {
        let seek = controller.player.startSeek(to: time)
        Task { [completionHandler] in
            let hasLanded = (try? await seek.landing) != nil
            completionHandler?(hasLanded)
        }
    }

    /// Loads again after a failure.
    public func resumeVideo(at time: Double, withAutoPlay autoPlay: Bool) {
        controller.player.resume(at: time, playing: autoPlay)
    }

    /// Holds the consumer, and tells it at once what is so.
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

    public func remove(_ consumer: (any BCOVPlaybackSessionConsumer)!) {
        guard let consumer else { return }
        let adapter = adapters.withLock { $0.removeValue(forKey: ObjectIdentifier(consumer)) }
        if let adapter { controller.removeSessionConsumer(adapter) }
    }

    /// Receives what happens from the moment at which it is set, and the current external playback status at once. Held weakly.
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
