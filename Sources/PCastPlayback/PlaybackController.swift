import PCastCore
import Synchronization

/// Plays lists of videos, with one session for each, and reports each session to all consumers (Brightcove's
/// `BCOVPlaybackController`). It is a view of its ``player``, which can also be used directly.
public final class PlaybackController: Sendable {
    /// The player of the controller.
    public let player: Player
    private let delegation = Mutex<EventSubscription?>(nil)

    /// Creates a controller of a player, and sets the player's `autoAdvance` and `autoPlay` to false.
    public init(_ player: Player) {
        self.player = player
        player.autoAdvance = false
        player.autoPlay = false
    }

    /// Creates a controller with a new player.
    public convenience init(_ pipelines: PipelineFactory) { self.init(Player(pipelines)) }

    // MARK: Content

    /// Whether the next video begins when one was played to its end. The default is false.
    public var autoAdvance: Bool {
        get { player.autoAdvance }
        set { player.autoAdvance = newValue }
    }

    /// Whether a video that the controller advances to plays at once. The default is false.
    public var autoPlay: Bool {
        get { player.autoPlay ?? false }
        set { player.autoPlay = newValue }
    }

    /// The session that plays; nil without content.
    public var session: PlaybackSession? { player.session }

    /// The videos that are played.
    public var videos: [Video] { player.videos }

    /// Replaces the content with videos and begins with the first.
    public func setVideos(_ videos: [Video]) { player.set(videos: videos, index: 0, play: autoPlay) }

    /// Inserts a video. Returns false, without effect, if `index` is out of bounds.
    @discardableResult
    public func insert(_ video: Video, afterVideoAt index: Int) -> Bool {
        index >= 0 && index < .max && player.insert(video, at: index + 1)
    }

    /// Advances to the next video. Returns false, without effect, at the last one.
    @discardableResult
    public func advanceToNext() -> Bool { player.advanceToNext() }

    // MARK: Commands

    /// Plays.
    public func play() { player.play() }

    /// Pauses.
    public func pause() { player.pause() }

    /// Seeks to a position of the item, like ``Player/seek(to:)-(Duration)``, and returns the position that was
    /// reached.
    @discardableResult
    public func seek(to position: Duration) async throws -> Duration { try await player.seek(to: position) }

    /// Restarts loading after a failure. A nil `position` is the last position, or the live edge of a live stream.
    /// Returns false, without effect, if playback has not failed or is already resuming.
    @discardableResult
    public func resumeVideo(at position: Duration? = nil, autoPlay: Bool = true) -> Bool {
        player.resume(at: position, playing: autoPlay)
    }

    /// The playback rate, as a factor, clamped to 0.25 to 4. A value that is not positive counts as 1.
    public var playbackRate: Double {
        get { player.speed }
        set { player.speed = newValue }
    }

    // MARK: Consumers

    /// Adds a consumer, which is held strongly and receives the current values at once. It has no effect on a consumer
    /// that was added before.
    public func addSessionConsumer(_ consumer: any PlaybackSessionConsumer) { player.add(consumer) }

    /// Removes a consumer. It receives no more calls.
    public func removeSessionConsumer(_ consumer: any PlaybackSessionConsumer) { player.remove(consumer) }

    /// The consumer that is held weakly; nil for none. It receives progress, cue points and lifecycle events from the
    /// moment at which it is set. Of current values, it receives only the external playback status. It is called in the
    /// same order and from the same thread as the other consumers.
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

    // MARK: External playback

    /// Whether external playback may start. Current external playback continues after a change to false.
    public var allowsExternalPlayback: Bool {
        get { player.allowsExternalPlayback }
        set { player.allowsExternalPlayback = newValue }
    }
}
