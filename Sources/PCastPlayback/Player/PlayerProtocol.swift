/// What can be played, steered and followed (seed 001, VideoKit's `PlayerProtocol`). Times are in seconds. Everything may be
/// called from any thread, and returns at once.
public protocol PlayerProtocol: AnyObject, Sendable {
    var state: PlayerState { get }
    var video: Video? { get }

    /// Begins to load a video; plays it at once, or when asked to.
    func set(video: Video, play: Bool)

    /// Begins with one of several videos, and goes on with those behind it. An index beyond them is brought within.
    func set(videos: [Video], index: Int, play: Bool)

    func set(playlist: Playlist, index: Int, play: Bool)

    /// Leaves the player without content.
    func reset()

    func play()
    func pause()

    /// Plays what is paused, and pauses what is set to play.
    func toggle()

    /// Pauses at the beginning.
    func stop()

    /// Goes elsewhere, as soon as the media are open, and returns when the picture there is shown.
    ///
    /// - Returns: where that is.
    /// - Throws: `CancellationError` when another seek took its place or another video was set, a ``PlaybackError`` when the
    ///   content cannot be gone about in, or there is none.
    @discardableResult
    func seek(to position: Double) async throws -> Double

    var position: Double { get }
    /// Zero before it is known, infinite for live media.
    var duration: Double { get }
    /// The end of what could be shown without loading more.
    var bufferedPosition: Double { get }

    var muted: Bool { get set }
    /// 0 to 1; brought within that.
    var volume: Double { get set }
    /// 0.25 to 4, with the pitch kept; brought within that.
    var speed: Double { get set }
    /// What was played through begins again: the last video of several with the first, if the player goes through them.
    var loop: Bool { get set }
    var aspectMode: AspectMode { get set }

    /// Holds it weakly. Nothing comes of adding one that is there already.
    func addObserver(_ observer: any PlayerObserver)

    func removeObserver(_ observer: any PlayerObserver)
}

extension PlayerProtocol {
    public func set(video: Video, play: Bool) { set(videos: [video], index: 0, play: play) }

    public func set(playlist: Playlist, index: Int = 0, play: Bool) {
        set(videos: playlist.videos, index: index, play: play)
    }

    public func set(videos: [Video], play: Bool) { set(videos: videos, index: 0, play: play) }
}
