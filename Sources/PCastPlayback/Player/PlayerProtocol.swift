public import PCastRendering

/// A player that can be controlled and observed (VideoKit's `PlayerProtocol`). Times are in seconds. All methods may be
/// called from any thread, and only `seek` waits.
public protocol PlayerProtocol: AnyObject, Sendable {
    /// The state of playback.
    var state: PlayerState { get }
    /// The video that is played; nil without content.
    var video: Video? { get }

    /// Replaces the content with a video. It plays at once if `play` is true.
    func set(video: Video, play: Bool)

    /// Replaces the content with videos and begins at `index`, clamped to the valid indexes.
    func set(videos: [Video], index: Int, play: Bool)

    /// Replaces the content with a playlist and begins at `index`, clamped to the valid indexes.
    func set(playlist: Playlist, index: Int, play: Bool)

    /// Leaves the player without content.
    func reset()

    /// Plays.
    func play()
    /// Pauses.
    func pause()

    /// Pauses if it is set to play, and plays otherwise.
    func toggle()

    /// Pauses at the beginning.
    func stop()

    /// Seeks to a position in seconds once the media is open, and returns the position of the frame that is displayed.
    /// Throws `CancellationError` if another seek or another video replaced this seek, or a ``PlaybackError`` if the
    /// content is not seekable or there is none.
    @discardableResult
    func seek(to position: Double) async throws -> Double

    /// The position in seconds; zero without content.
    var position: Double { get }
    /// The duration in seconds: zero before it is known, and infinity for live media.
    var duration: Double { get }
    /// The end of the media that can be displayed without more loading, in seconds.
    var bufferedPosition: Double { get }

    /// Whether the audio is muted.
    var muted: Bool { get set }
    /// The volume, clamped to 0 to 1.
    var volume: Double { get set }
    /// The playback rate, as a factor, clamped to 0.25 to 4. The pitch of the audio does not change.
    var speed: Double { get set }
    /// Whether content restarts after its end. After the last of several videos the first restarts, if the player
    /// advances automatically.
    var loop: Bool { get set }
    /// The mode that fits frames into the display area.
    var aspectMode: AspectMode { get set }

    /// Adds an observer, which is held weakly. It has no effect on an observer that was added before.
    func addObserver(_ observer: any PlayerObserver)

    /// Removes an observer. It receives no more calls.
    func removeObserver(_ observer: any PlayerObserver)
}

extension PlayerProtocol {
    /// Replaces the content with a video. It plays at once if `play` is true.
    public func set(video: Video, play: Bool) { set(videos: [video], index: 0, play: play) }

    /// Replaces the content with a playlist and begins at `index`, clamped to the valid indexes.
    public func set(playlist: Playlist, index: Int = 0, play: Bool) {
        set(videos: playlist.videos, index: index, play: play)
    }

    /// Replaces the content with videos and begins with the first.
    public func set(videos: [Video], play: Bool) { set(videos: videos, index: 0, play: play) }
}

/// The mode that fits frames into an area with another aspect ratio.
public typealias AspectMode = AspectRatioMode
