public import PCastCore

/// Plays one item, to a screen and a loudspeaker: the only owner of what is shown and where playback is.
///
/// Commands come from any thread and return at once; what follows from them is told by ``PipelineEvent``s, in one order, to
/// the one handler that the pipeline was made with, by one thread at a time. Begins paused, and loads at once.
public protocol PlaybackPipeline: AnyObject, Sendable {
    /// What is played at this moment.
    var playhead: Playhead { get }

    /// When the picture at a position was made; nil where nothing tells.
    func timecode(at position: TimeSpan) -> WallTime?

    /// Where the picture of a moment is, also outside of what can be gone about in; nil where nothing tells.
    func position(of timecode: WallTime) -> TimeSpan?

    func play()
    func pause()

    /// 0.25 to 4, with the pitch kept; brought within that.
    func setRate(_ rate: Double)

    /// Goes elsewhere, within the seekable range. One that is on its way is superseded.
    ///
    /// - Returns: the epoch whose ``PipelineEvent/Kind/landed(_:)`` says that it came there.
    @discardableResult
    func seek(to position: TimeSpan) -> PlayheadEpoch

    /// Goes to the picture of a moment; nil where nothing tells where that is.
    @discardableResult
    func seek(to wallTime: WallTime) -> PlayheadEpoch?

    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind)

    var isMuted: Bool { get set }
    /// 0 to 1.
    var volume: Double { get set }

    /// The end of what could be shown without loading more; nil where nobody knows.
    var bufferedPosition: TimeSpan? { get }

    /// The picture that was shown last; also after `stop`.
    var lastFrame: VideoFrame? { get }

    /// Ends it and waits for its threads; no event comes after it. Not from the handler. Harmless when called again.
    func stop()
}

/// What happens to an item that is played.
public struct PipelineEvent: Sendable {
    public enum Kind: Sendable {
        /// Tracks, duration, window: the first says that it was opened.
        case overview(ContentOverview)
        /// Whether there is nothing to show; true first, then as it changes.
        case buffering(Bool)
        /// The first picture of an epoch is on the screen, or its sound begins, at this position; ``landed(_:)`` follows when
        /// there is enough to go on with. Where that comes at once it may be left out.
        case arrived(TimeSpan)
        /// The first picture or sound of an epoch was shown, at this position, and there is enough to go on with: a seek, or
        /// the start, has come there.
        case landed(TimeSpan)
        /// The position has moved, by playing; as often as a picture is shown.
        case position(TimeSpan)
        /// The text that is shown now; nil for none.
        case subtitle(String?)
        case metadata(TimedMetadata)
        case dimensions(Dimensions)
        /// A live window has moved on past what would come next, or the edge of one with low latency far away; the pipeline
        /// goes on by itself in the window, from about here, by a seek of this event's epoch.
        case evicted(TimeSpan)
        /// The last picture and the last sound were shown. It is paused then; told once, until a seek leads away from there.
        case ended
        /// It cannot go on. Nothing comes after it.
        case failed(PlaybackError)
    }

    /// Of which epoch it is; who has sought since need not heed it.
    public var epoch: PlayheadEpoch
    public var kind: Kind

    public init(_ kind: Kind, of epoch: PlayheadEpoch) { (self.kind, self.epoch) = (kind, epoch) }
}
