public import PCastCore
public import PCastOverlay

/// An event of a player. ``PlayerObserver``s and ``PlaybackSessionConsumer``s receive parts of the same events in the
/// same order.
public struct PlayerEvent: Sendable {
    /// The kind of an event with its values.
    public enum Kind: Hashable, Sendable {
        /// The player advanced to a session with this video; nil if there is no content any more.
        case videoChanged(Video?)
        /// The state changed.
        case stateChanged(PlayerState)
        /// Playback failed.
        case error(PlaybackError)
        /// The session can be played. It occurs once in a session.
        case ready
        /// The session was played to its end.
        case finished
        /// The displayed subtitle changed; nil for none.
        case subtitleChanged(String?)
        /// The duration changed; nil for live media.
        case durationChanged(Duration?)
        /// The audio was muted or unmuted.
        case mutedChanged(Bool)
        /// The volume changed, 0 to 1.
        case volumeChanged(Double)
        /// The playback rate changed.
        case speedChanged(Double)
        /// The repetition of content was switched on or off.
        case loopChanged(Bool)
        /// The mode that fits frames into the display area changed.
        case aspectModeChanged(AspectMode)
        /// The part of the display area for frames changed.
        case videoScaleChanged(VideoScale)
        /// The lifecycle of the session had an event.
        case lifecycle(LifecycleEvent)
        /// The first frame after the start or a seek is displayed. Playback advances from it, reported as progress,
        /// when enough media has arrived. It does not occur if both happen at once.
        case arrived(Duration)
        /// The progress changed, from before the beginning, at each displayed frame, to after the end.
        case progressed(PlaybackProgress)
        /// The playhead passed cue points.
        case passedCuePoints(CuePointPassage)
        /// The ranges of positions for seeks changed.
        case seekableRangesChanged([ClosedRange<Duration>])
        /// The media type is known.
        case mediaTypeDetermined(SourceMediaType)
        /// External playback began or ended.
        case externalPlaybackChanged(Bool)
        /// The tracks or their selection changed.
        case tracksChanged([ContentTrack], selected: Set<ContentTrack.ID>)
        /// The size of the frames in pixels changed.
        case dimensionsChanged(Dimensions)
        /// Timed metadata was reached.
        case metadata(TimedMetadata)
        /// The last video was played to its end while ``Player/autoAdvance`` is true.
        case playlistCompleted([Video])
    }

    /// The session of the event; nil for an event of the player itself.
    public var session: PlaybackSession?
    /// The epoch of the event, which counts all sessions and seeks of the player. If it is less than that of
    /// ``Player/playhead``, the event is outdated.
    public var epoch: PlayheadEpoch
    /// The kind of the event.
    public var kind: Kind

    /// Creates an event.
    init(_ kind: Kind, session: PlaybackSession?, epoch: PlayheadEpoch) {
        (self.kind, self.session, self.epoch) = (kind, session, epoch)
    }

    /// Whether the event is a position, which a newer one replaces.
    var isReplaceable: Bool {
        if case .progressed(.at) = kind { true } else { false }
    }
}
