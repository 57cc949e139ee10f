import PCastCore

/// The state of one session: the result of its commands and its pipeline's events, with the events to report, in order.
struct SessionState: Sendable {
    /// The consequence of a command or an event for the player.
    enum Outcome { case continuesHere, ended, failed }

    /// The source that is played; nil if the video has none.
    let source: Source?
    var lifecycle = SessionLifecycle()
    var cuePoints: CuePointProgress
    /// The pipeline that plays, or played last.
    var pipeline: (any PlaybackPipeline)?
    /// The pipeline that can receive commands; nil after a failure or the end.
    var livePipeline: (any PlaybackPipeline)? { lifecycle.isAlive ? pipeline : nil }
    /// The number of restarts. Events of the pipeline of an earlier run are ignored.
    var run = 0
    /// The player's epoch that corresponds to the pipeline's epoch zero.
    var firstEpoch: Int
    /// The newest epoch of the pipeline.
    var epoch = PlayheadEpoch()
    /// Whether the pipeline of this run has opened its media.
    var isOpen = false
    /// The properties of the media; nil before it is open.
    var overview: ContentOverview?
    var mediaType = SourceMediaType.undetermined
    var subtitle: String?
    /// The last position.
    var position = TimeSpan.zero
    /// Whether a position was reported.
    var hasMoved = false
    /// The seek that begins once the media is open; nil for none.
    var wanted: (target: SeekTarget, request: SeekRequest)?
    /// The seek in progress; nil for none.
    var seeking: SeekRequest?
    var isMuted = false
    var isPlayedElsewhere = false

    /// The events to report, in order.
    private var pendingEvents: [PlayerEvent.Kind] = []
    /// The last state that was reported.
    private(set) var reportedState: PlayerState

    init(source: Source?, cuePoints: CuePointCollection, firstEpoch: Int, reportedState: PlayerState) {
        self.source = source
        self.cuePoints = CuePointProgress(cuePoints)
        self.firstEpoch = firstEpoch
        self.reportedState = reportedState
    }

    // MARK: Reports

    /// Adds an event to those to report.
    mutating func notify(_ kind: PlayerEvent.Kind) { pendingEvents.append(kind) }

    /// Returns and removes the events to report.
    mutating func takePendingEvents() -> [PlayerEvent.Kind] {
        defer { pendingEvents = [] }
        return pendingEvents
    }

    /// Reports changes of the state, and then the lifecycle events that caused them.
    mutating func reportChanges() {
        let state = lifecycle.playerState
        if state != reportedState {
            reportedState = state
            notify(.stateChanged(state))
        }
        while let event = lifecycle.poll() {
            notify(.lifecycle(event))
            switch event {
            case .ready:
                notify(.ready)
                notify(.progressed(.beforeBeginning))
            case .end: notify(.finished)
            default: break
            }
        }
    }

    // MARK: Properties

    /// Returns an epoch of the pipeline as an epoch of the player.
    func numbered(_ epoch: PlayheadEpoch) -> PlayheadEpoch { PlayheadEpoch(number: firstEpoch + epoch.number) }

    /// The current playhead, in epochs of the player.
    var playhead: Playhead {
        var playhead =
            pipeline?.playhead
            ?? Playhead(
                epoch: epoch, position: position, timecode: nil, seekableRange: nil, timecodeRange: nil, rate: 0,
                isSeeking: false)
        playhead.epoch = numbered(playhead.epoch)
        if lifecycle.hasEnded {
            playhead.position = overview?.end ?? playhead.position
            playhead.rate = 0
        }
        return playhead
    }

    /// The first epoch of the player after all epochs of this session.
    var nextEpoch: Int { max(numbered(epoch), playhead.epoch).number + 1 }

    /// The ranges of positions for seeks; empty if the content is not seekable.
    var seekableRanges: [ClosedRange<TimeSpan>] { overview?.seekableRange.map { [$0] } ?? [] }

    /// Whether playback was requested and not paused since.
    var isSetToPlay: Bool { if case .playing = lifecycle.playerState { true } else { false } }
}
