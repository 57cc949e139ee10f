package import PCastCore

/// The playback of one item to a surface and an audio output. The pipeline is the only source of what is displayed and
/// of the position.
///
/// Commands may be called from any thread and return at once. ``PipelineEvent``s report their results, in order, to the
/// handler of the pipeline, from one thread at a time. A pipeline begins paused and loads at once.
package protocol PlaybackPipeline: AnyObject, Sendable {
    /// A snapshot of playback now.
    var playhead: Playhead { get }

    /// Returns the wall-clock time at which the frame at a position was captured; nil if unknown.
    func timecode(at position: TimeSpan) -> WallTime?

    /// Returns the position of a wall-clock time, which may be outside the seekable range; nil if unknown.
    func position(of timecode: WallTime) -> TimeSpan?

    /// Plays.
    func play()
    /// Pauses.
    func pause()

    /// Sets the playback rate, as a factor, clamped to 0.25 to 4. The pitch of the audio does not change.
    func setRate(_ rate: Double)

    /// Seeks to a position, clamped to the seekable range, and supersedes a seek in progress. Returns the epoch whose
    /// ``PipelineEvent/Kind/landed(_:)`` reports the completion.
    @discardableResult
    func seek(to position: TimeSpan) -> PlayheadEpoch

    /// Seeks to the frame of a wall-clock time and returns the epoch of the seek; nil, without effect, if its position
    /// is unknown.
    @discardableResult
    func seek(to wallTime: WallTime) -> PlayheadEpoch?

    /// Selects a track of a kind, or none if `track` is nil.
    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind)

    /// Whether the audio is muted.
    var isMuted: Bool { get set }
    /// The volume, clamped to 0 to 1.
    var volume: Double { get set }

    /// The end of the media that can be displayed without more loading; nil if unknown.
    var bufferedPosition: TimeSpan? { get }

    /// The last displayed frame, also after `stop()`; nil before the first.
    var lastFrame: VideoFrame? { get }

    /// Stops playback and waits for the pipeline's threads. No event follows. It must not be called from the handler,
    /// and has no effect if it was called before.
    func stop()
}

/// An event of an item that is played.
package struct PipelineEvent: Sendable {
    /// The kind of an event with its values.
    package enum Kind: Sendable {
        /// The properties of the media changed. The first one reports that the media is open.
        case overview(ContentOverview)
        /// Buffering began or ended. The first event is true.
        case buffering(Bool)
        /// The first frame of an epoch is displayed, or its audio begins, at this position. ``landed(_:)`` follows when
        /// enough media has arrived. This event may be omitted if both occur at once.
        case arrived(TimeSpan)
        /// The start or a seek is complete: the first frame or audio of the epoch was displayed at this position, and
        /// enough media has arrived.
        case landed(TimeSpan)
        /// The position advanced by playback, with each displayed frame.
        case position(TimeSpan)
        /// The text of the displayed subtitle changed; nil for none.
        case subtitle(String?)
        /// Timed metadata was reached.
        case metadata(TimedMetadata)
        /// The size of the frames in pixels changed.
        case dimensions(Dimensions)
        /// A live window has advanced beyond the position, or low-latency playback is too far from the live edge. The
        /// pipeline seeks by itself to about this position, in the epoch of this event.
        case evicted(TimeSpan)
        /// The last frame and the last audio were displayed. Playback is paused then. It occurs once until a seek.
        case ended
        /// Playback failed. No event follows.
        case failed(PlaybackError)
    }

    /// The epoch of the event. After a newer seek, the event can be ignored.
    package var epoch: PlayheadEpoch
    /// The kind of the event.
    package var kind: Kind

    /// Creates an event.
    package init(_ kind: Kind, of epoch: PlayheadEpoch) { (self.kind, self.epoch) = (kind, epoch) }
}
