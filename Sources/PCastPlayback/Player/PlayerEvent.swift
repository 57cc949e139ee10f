public import PCastCore
public import PCastOverlay

/// What happens to a player, in the one order in which it does. ``PlayerObserver``s and ``PlaybackSessionConsumer``s are
/// told parts of the same, in the same order.
public struct PlayerEvent: Sendable {
    public enum Kind: Hashable, Sendable {
        /// Another session was advanced to, with its video; nil when there is none any more.
        case videoChanged(Video?)
        case stateChanged(PlayerState)
        case error(PlaybackError)
        /// It can be played. Once in a session.
        case ready
        /// It was played through its end.
        case finished
        /// The text that is shown now; nil for none.
        case subtitleChanged(String?)
        /// Nil for live media, of which no end is known.
        case durationChanged(TimeSpan?)
        case mutedChanged(Bool)
        case volumeChanged(Double)
        case speedChanged(Double)
        case loopChanged(Bool)
        case aspectModeChanged(AspectMode)
        /// The picture goes to another part of its place.
        case videoScaleChanged(VideoScale)
        case lifecycle(LifecycleEvent)
        /// The first picture of the start or of a seek is on the screen; it goes on from there, and is told as progress, when
        /// enough has come. Not told where both are one.
        case arrived(TimeSpan)
        /// From before the beginning, by positions as often as a picture is shown, to behind the end.
        case progressed(PlaybackProgress)
        case passedCuePoints(CuePointPassage)
        case seekableRangesChanged([ClosedRange<TimeSpan>])
        case mediaTypeDetermined(SourceMediaType)
        case externalPlaybackChanged(Bool)
        /// What there is to choose from, and what is chosen.
        case tracksChanged([ContentTrack], selected: Set<ContentTrack.ID>)
        case dimensionsChanged(Dimensions)
        case metadata(TimedMetadata)
        /// The last video of the list was played through its end, where the player goes through the list by itself.
        case playlistCompleted([Video])
    }

    /// Nil for what is of the player itself.
    public var session: PlaybackSession?
    /// Of the player, all its sessions and seeks: what is of an earlier one than ``Player/playhead`` says is of the past.
    public var epoch: PlayheadEpoch
    public var kind: Kind

    init(_ kind: Kind, session: PlaybackSession?, epoch: PlayheadEpoch) {
        (self.kind, self.session, self.epoch) = (kind, session, epoch)
    }

    /// Comes with every picture, and the newest says it all.
    var isFleeting: Bool {
        if case .progressed(.at) = kind { true } else { false }
    }
}
