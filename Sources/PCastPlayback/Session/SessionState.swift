import PCastCore

/// One session as it stands: what its pipeline and its commands make of it, and what there is to be told of that, in order.
struct SessionState: Sendable {
    /// What a command or an event led to, beyond what is told.
    enum Outcome { case goesOn, ended, failed }

    let source: Source?
    var lifecycle = SessionLifecycle()
    var cuePoints: CuePointProgress
    /// The one that plays, or played last.
    var pipeline: (any PlaybackPipeline)?
    /// The one that can be told something.
    var livePipeline: (any PlaybackPipeline)? { lifecycle.isAlive ? pipeline : nil }
    /// How many pipelines were made for it: what an earlier one says is not heard.
    var run = 0
    /// The player's epoch at which the pipeline's own begin.
    var firstEpoch: Int
    /// The newest of the pipeline.
    var epoch = PlayheadEpoch()
    /// The pipeline of this run has opened its media.
    var isOpen = false
    var overview: ContentOverview?
    var mediaType = SourceMediaType.undetermined
    var subtitle: String?
    /// Where it was last.
    var position = TimeSpan.zero
    /// Something was shown.
    var hasMoved = false
    /// Where to go as soon as the media are open.
    var wanted: (target: SeekTarget, request: SeekRequest)?
    /// The seek that is on its way.
    var seeking: SeekRequest?
    var isMuted = false
    var isPlayedElsewhere = false

    private var told: [PlayerEvent.Kind] = []
    /// The last of what was told.
    private(set) var toldState: PlayerState

    init(source: Source?, cuePoints: CuePointCollection, firstEpoch: Int, toldState: PlayerState) {
        self.source = source
        self.cuePoints = CuePointProgress(cuePoints)
        self.firstEpoch = firstEpoch
        self.toldState = toldState
    }

    // MARK: What is told

    mutating func tell(_ kind: PlayerEvent.Kind) { told.append(kind) }

    mutating func takeTold() -> [PlayerEvent.Kind] {
        defer { told = [] }
        return told
    }

    /// Tells what has changed in the state and the life of the session: first what is, then how it came to be.
    mutating func settle() {
        let state = lifecycle.playerState
        if state != toldState {
            toldState = state
            tell(.stateChanged(state))
        }
        while let event = lifecycle.poll() {
            tell(.lifecycle(event))
            switch event {
            case .ready:
                tell(.ready)
                tell(.progressed(.beforeBeginning))
            case .end: tell(.finished)
            default: break
            }
        }
    }

    // MARK: What is seen of it

    /// In the order of all epochs of the player.
    func numbered(_ epoch: PlayheadEpoch) -> PlayheadEpoch { PlayheadEpoch(number: firstEpoch + epoch.number) }

    var playhead: Playhead {
        var playhead =
            pipeline?.playhead
            ?? Playhead(
                epoch: epoch, position: position, timecode: nil, seekableRange: nil, timecodeRange: nil, rate: 0,
                isSeeking: false)
        playhead.epoch = numbered(playhead.epoch)
        if lifecycle.hasEnded {
            playhead.position = overview?.duration ?? playhead.position
            playhead.rate = 0
        }
        return playhead
    }

    /// Behind all of its own.
    var nextEpoch: Int { max(numbered(epoch), playhead.epoch).number + 1 }

    var seekableRanges: [ClosedRange<TimeSpan>] { overview?.seekableRange.map { [$0] } ?? [] }

    var isSetToPlay: Bool { if case .playing = lifecycle.playerState { true } else { false } }
}
