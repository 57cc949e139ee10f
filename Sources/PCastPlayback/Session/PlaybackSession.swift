internal import PCast
public import PCastCore
import Synchronization

/// The playback of one video, from its beginning to ``LifecycleEvent/terminate`` (Brightcove's `BCOVPlaybackSession`).
///
/// A session is not reused: each playback of a video has its own session. Its properties can be read from any thread,
/// and also after its end.
public final class PlaybackSession: Sendable, Identifiable {
    /// An ID that is unique in the process.
    public struct ID: Hashable, Sendable {
        /// The last number that was assigned.
        private static let last = Atomic(0)

        /// The number of the session, from 1.
        public let number: Int

        /// Creates the next ID.
        init() { number = Self.last.add(1, ordering: .relaxed).newValue }
    }

    /// The ID of the session.
    public let id = ID()
    /// The video of the session.
    public let video: Video
    /// The source of the video that is played; nil if it has none.
    public let source: Source?

    /// The player of the session; nil after the player was released.
    public weak let player: Player?

    private let state: Mutex<SessionState>

    /// Creates a session whose epochs begin at `firstEpoch`. `reportedState` is the state that the player reported last.
    init(_ video: Video, of player: Player, firstEpoch: Int, reportedState: PlayerState) {
        self.video = video
        self.player = player
        source = video.preferredSource
        state = Mutex(
            SessionState(
                source: source, cuePoints: video.cuePoints, firstEpoch: firstEpoch, reportedState: reportedState))
    }

    /// Calls `body` with the state while it is locked.
    func withState<Value: Sendable>(_ body: (inout SessionState) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    // MARK: Content

    /// The time by which the clock of the encoder of live HLS (`EXT-X-PROGRAM-DATE-TIME`) is ahead of that of the server
    /// (HTTP's `Date`) at least, or negative behind it; nil if the difference is at most 200 ms or unknown. By this time,
    /// events of a timeline appear with other frames.
    public var encoderClockDifference: Duration? { overview?.encoderClockDifference?.duration }

    /// The duration; nil before it is known and for live media.
    public var duration: Duration? { overview?.duration?.duration }

    /// The ranges of positions for seeks; empty if the content is not seekable.
    public var seekableRanges: [ClosedRange<Duration>] { state.withLock { $0.seekableRanges } }

    /// Whether the source has only audio or audio and video.
    public var mediaType: SourceMediaType { state.withLock { $0.mediaType } }

    /// The properties of the media; nil before it is open.
    public var overview: ContentOverview? { state.withLock { $0.overview } }

    /// The cue points of the video and those added since. A change does not report cue points at positions that the
    /// playhead has already passed.
    public var cuePoints: CuePointCollection {
        get { state.withLock { $0.cuePoints.cuePoints } }
        set { state.withLock { $0.cuePoints.cuePoints = newValue } }
    }

    // MARK: State

    /// The state as observers of the player receive it.
    public var playerState: PlayerState { state.withLock { $0.lifecycle.playerState } }

    /// The state as overlays receive it.
    public var overlayState: OverlayPlayerState { state.withLock { $0.lifecycle.overlayState } }

    /// A snapshot of playback now. Its epoch counts all epochs of the player.
    public var playhead: Playhead { state.withLock { $0.playhead } }

    /// The progress of playback.
    public var progress: PlaybackProgress { state.withLock { $0.cuePoints.progress } }

    /// Whether another device plays the session.
    public var isExternalPlaybackActive: Bool { state.withLock { $0.isPlayedElsewhere } }

    /// The text of the subtitle that is displayed; nil for none.
    public var subtitle: String? { state.withLock { $0.subtitle } }

    /// The last displayed frame, also after the end of the session; nil if there was none.
    public var lastFrame: VideoFrame? { state.withLock { $0.pipeline }?.lastFrame }

    /// The end of the media that can be displayed without more loading; nil if unknown.
    public var bufferedPosition: Duration? { state.withLock { $0.pipeline }?.bufferedPosition?.duration }

    /// The subscribed stream; nil if the session does not play a stream of a platform.
    var subscribedStream: MediaStream? { (state.withLock { $0.pipeline } as? StreamPipeline)?.stream }

    /// Ends the session and leaves the player without content. It has no effect on a session that is over.
    public func terminate() { player?.terminate(self) }
}

extension PlaybackSession: Hashable {
    /// Whether both are the same session.
    public static func == (left: PlaybackSession, right: PlaybackSession) -> Bool { left === right }

    /// Hashes the ID.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
