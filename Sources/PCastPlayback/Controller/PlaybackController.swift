public import PCastCore
import Synchronization

/// Plays lists of videos by sessions, and hands each session to every consumer (seed 003, Brightcove's
/// `BCOVPlaybackController`). A view of its ``player``, which can be used beside it.
public final class PlaybackController: Sendable {
    public let player: Player
    private let delegation = Mutex<EventSubscription?>(nil)

    /// Makes the player do what it is asked to, and nothing by itself: neither advance nor play.
    public init(_ player: Player) {
        self.player = player
        player.autoAdvance = false
        player.autoPlay = false
    }

    public convenience init(_ pipelines: PipelineFactory) { self.init(Player(pipelines)) }

    // MARK: What is played

    /// Whether the next video begins when one has been played through its end; false unless set.
    public var autoAdvance: Bool {
        get { player.autoAdvance }
        set { player.autoAdvance = newValue }
    }

    /// Whether a video that is advanced to plays at once; false unless set.
    public var autoPlay: Bool {
        get { player.autoPlay ?? false }
        set { player.autoPlay = newValue }
    }

    /// The session that plays; nil without content.
    public var session: PlaybackSession? { player.session }

    public var videos: [Video] { player.videos }

    /// Begins with the first of these videos, in place of what is played.
    public func setVideos(_ videos: [Video]) { player.set(videos: videos, index: 0, play: autoPlay) }

    /// Puts a video among those that are played.
    ///
    /// - Returns: whether there is a video at that index.
    @discardableResult
    public func insert(_ video: Video, afterVideoAt index: Int) -> Bool {
        index >= 0 && index < .max && player.insert(video, at: index + 1)
    }

    /// Goes on with the next video; of no effect behind the last.
    @discardableResult
    public func advanceToNext() -> Bool { player.advanceToNext() }

    // MARK: Steering

    public func play() { player.play() }

    public func pause() { player.pause() }

    /// As ``Player/seek(to:)-(TimeSpan)``.
    @discardableResult
    public func seek(to position: TimeSpan) async throws -> TimeSpan { try await player.seek(to: position) }

    /// Loads again after a failure. Of no effect otherwise, or while that is under way.
    ///
    /// - Parameter position: nil for where it broke off, or the edge of a live programme.
    /// - Returns: whether it does.
    @discardableResult
    public func resumeVideo(at position: TimeSpan? = nil, autoPlay: Bool = true) -> Bool {
        player.resume(at: position?.seconds, playing: autoPlay)
    }

    /// What is not more than zero is taken for 1.
    public var playbackRate: Double {
        get { player.speed }
        set { player.speed = newValue }
    }

    // MARK: Who follows

    /// Holds the consumer, and tells it at once what is so. Nothing comes of adding one that is there already.
    public func addSessionConsumer(_ consumer: any PlaybackSessionConsumer) { player.add(consumer) }

    public func removeSessionConsumer(_ consumer: any PlaybackSessionConsumer) { player.remove(consumer) }

    /// Receives what happens from the moment at which it is set: progress, cue points and lifecycle events that have not yet
    /// occurred. Only the current external playback status is reported at once. It is held weakly, and called in the same
    /// order and from the same thread as consumers. Nil for none.
    public var delegate: (any PlaybackSessionConsumer)? {
        get { delegation.withLock { $0?.delegate } }
        set {
            delegation.withLock { delegation in
                let former = delegation
                delegation = newValue.map { EventSubscription(delegate: $0) }
                player.setDelegate(delegation, replacing: former)
            }
        }
    }

    // MARK: Playing elsewhere

    public var allowsExternalPlayback: Bool {
        get { player.allowsExternalPlayback }
        set { player.allowsExternalPlayback = newValue }
    }
}
