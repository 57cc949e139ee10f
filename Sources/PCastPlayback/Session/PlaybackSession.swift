internal import PCast
public import PCastCore
import Synchronization

/// One playing of one video, from its beginning to ``LifecycleEvent/terminate`` (Brightcove's `BCOVPlaybackSession`). It is
/// never used again: who plays the same video once more gets another. May be asked from any thread, also when it is over.
public final class PlaybackSession: Sendable, Identifiable {
    /// No two sessions of a process have the same.
    public struct ID: Hashable, Sendable {
        private static let last = Atomic(0)

        public let number: Int

        init() { number = Self.last.add(1, ordering: .relaxed).newValue }
    }

    public let id = ID()
    public let video: Video
    /// The one of the video's that is played; nil where it has none.
    public let source: Source?

    /// Who plays it, or played it.
    public weak let player: Player?

    private let state: Mutex<SessionState>

    init(_ video: Video, of player: Player, firstEpoch: Int, toldState: PlayerState) {
        self.video = video
        self.player = player
        source = video.preferredSource
        state = Mutex(
            SessionState(source: source, cuePoints: video.cuePoints, firstEpoch: firstEpoch, toldState: toldState))
    }

    func withState<Value: Sendable>(_ body: (inout SessionState) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    // MARK: What it is

    /// Nil before it is known, and for live media.
    public var duration: TimeSpan? { overview?.duration }

    public var seekableRanges: [ClosedRange<TimeSpan>] { state.withLock { $0.seekableRanges } }

    public var mediaType: SourceMediaType { state.withLock { $0.mediaType } }

    /// All that is known of its media; nil before they were opened.
    public var overview: ContentOverview? { state.withLock { $0.overview } }

    /// Those of the video, and what was added since. What the playhead has passed already is not passed again because of a
    /// change.
    public var cuePoints: CuePointCollection {
        get { state.withLock { $0.cuePoints.cuePoints } }
        set { state.withLock { $0.cuePoints.cuePoints = newValue } }
    }

    // MARK: How it stands

    public var playerState: PlayerState { state.withLock { $0.lifecycle.playerState } }

    public var overlayState: OverlayPlayerState { state.withLock { $0.lifecycle.overlayState } }

    /// What is played at this moment, in epochs of the player.
    public var playhead: Playhead { state.withLock { $0.playhead } }

    /// How far it was played.
    public var progress: PlaybackProgress { state.withLock { $0.cuePoints.progress } }

    public var isExternalPlaybackActive: Bool { state.withLock { $0.isPlayedElsewhere } }

    /// The text that is shown now.
    public var subtitle: String? { state.withLock { $0.subtitle } }

    /// The picture that was shown last, also when it is over.
    public var lastFrame: VideoFrame? { state.withLock { $0.pipeline }?.lastFrame }

    /// The end of what could be shown without loading more; nil where nobody knows.
    public var bufferedPosition: TimeSpan? { state.withLock { $0.pipeline }?.bufferedPosition }

    /// The stream that it plays, where it is one of a platform.
    var subscribedStream: MediaStream? { (state.withLock { $0.pipeline } as? StreamPipeline)?.stream }

    /// Ends it, and leaves the player without content. Harmless when it is over.
    public func terminate() { player?.terminate(self) }
}

extension PlaybackSession: Hashable {
    public static func == (left: PlaybackSession, right: PlaybackSession) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
