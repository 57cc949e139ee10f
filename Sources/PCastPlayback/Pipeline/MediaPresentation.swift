import PCastCore
import PCastRendering

/// What is shown, heard and told of an item, and when: everything that a pipeline decides, without its threads. It is told
/// what is asked for, what was read, and the time; polled for what is to be done; and never waits.
///
/// The ``PlayheadClock`` says when a position is come to, for pictures and sound alike, so that both are in step by being on
/// time. Sound has to be there earlier by what the loudspeaker holds: playing therefore begins that much later.
struct MediaPresentation {
    enum Output {
        case show(VideoFrame)
        case hear(AudioFrame, at: Instant)
        /// What was handed on to be heard is not to be.
        case withdrawSound
        case event(PipelineEvent)
        /// The reader is to leave what it does, for there is something else for it.
        case interruptReader
    }

    enum Phase: Equatable {
        case opening
        /// On the way to the first picture or sound of an epoch; nil before the content has gone there.
        case landing(TimeSpan?)
        case showing
        case failed
    }

    /// What must be there before it goes on, by the content's own word, once it had to wait.
    static let resumption = TimeSpan.milliseconds(1_500)
    /// After so long it goes on with what there is.
    static let timeout = TimeSpan.seconds(3)
    /// How often it is looked whether that is there.
    static let lookInterval = TimeSpan.milliseconds(100)
    /// Of a medium that is so far behind the other none is waited for: it has a hole there.
    static let farthestApart = TimeSpan.seconds(1)

    var clock: PlayheadClock
    var phase = Phase.opening
    var outputs: [Output] = []
    /// Something has come or was asked for since it was looked what follows from it.
    var isChanged = true

    // What is there to be shown.
    var overview: ContentOverview?
    var awaited: Set<ContentTrack.Kind> = []
    var pictures = VideoQueue()
    var sounds = AudioQueue()
    var subtitles = SubtitleLine()
    var metadata = MetadataQueue()
    /// Where the epoch began.
    var beginning = TimeSpan.zero
    /// Up to where the content was read.
    var readPosition = TimeSpan.zero
    /// The content has no more.
    var isReadToEnd = false
    var failure: PlaybackError?
    /// By the content's word, loaded without a hole.
    var loaded: TimeSpan?

    // What the reader is to do.
    var isOpen = false
    var pendingSeek: TimeSpan?
    var pendingSelections: [ContentTrack.Kind: ContentTrack.ID?] = [:]
    var isFilling = true

    // What was shown and told.
    var hasEnded = false
    /// When it began to wait; nil when it did not, or when nothing was played before.
    var stalledAt: Instant?
    /// Where it has landed, until that is told.
    var untoldLanding: TimeSpan?
    var lastDue: Instant?
    var lastTold: Instant?
    var saysBuffering = true
    var dimensions: Dimensions?
    var subtitle: String?
    var statistics = PresentationStatistics()
    var pursuit = EdgePursuit()

    // Sound on its way.
    /// How long before it is heard sound must be there.
    var soundLead = TimeSpan.zero
    var tempo: TimeStretcher?
    /// Where the sound begins that `tempo` was given.
    var tempoOrigin = TimeSpan.zero
    /// Where the sound ends that it was given; nil when it is to begin anew.
    var tempoEnd: TimeSpan?
    var hasHandedEnd = false

    /// When the media were made, by the application's word.
    private(set) var wallClock: WallClockMapping?

    init(at now: Instant, wallClock: WallClockMapping? = nil) {
        self.wallClock = wallClock
        clock = PlayheadClock(at: now)
        tell(.buffering(true))
    }

    // MARK: What is asked for

    /// At the end nothing follows from it before a seek.
    mutating func play(at now: Instant) {
        guard !clock.isPlaying else { return }
        clock.play(at: beginningOfPlay(at: now))
        beginPursuit(at: now)
        isChanged = true
    }

    mutating func pause(at now: Instant) {
        guard clock.isPlaying else { return }
        clock.pause(at: now)
        withdrawSound(at: now)
        isChanged = true
    }

    mutating func setRate(_ rate: Double, at now: Instant) {
        endPursuit(at: now)
        play(at: rate, now)
    }

    mutating func play(at rate: Double, _ now: Instant) {
        let before = clock.playbackRate
        clock.setRate(rate, at: now)
        guard clock.playbackRate != before else { return }
        withdrawSound(at: now)
        isChanged = true
    }

    /// Where it cannot be gone about, it stays where it is, and says so.
    mutating func seek(to position: TimeSpan, at now: Instant) -> PlayheadEpoch {
        guard phase != .failed else { return clock.epoch }
        if isOpen, clock.seekableRange == nil {
            tell(.landed(clock.position(at: now)))
            isChanged = true
            return clock.epoch
        }
        let epoch = clock.seek(to: position, at: now)
        leave(at: now)
        return epoch
    }

    mutating func seek(to wallTime: WallTime, at now: Instant) -> PlayheadEpoch? {
        guard phase != .failed, let epoch = clock.seek(to: wallTime, at: now) else { return nil }
        leave(at: now)
        return epoch
    }

    /// Goes on where the window begins by now. Told before what follows from it, so that nobody takes it for a stall.
    mutating func evict(to position: TimeSpan, at now: Instant) {
        _ = clock.seek(to: position, at: now)
        tell(.evicted(clock.position(at: now)))
        leave(at: now)
    }

    mutating func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind, at now: Instant) {
        guard phase != .failed else { return }
        pendingSelections[kind] = track
        switch kind {
        case .subtitles: subtitles.removeAll()
        case .audio:
            if track == nil {
                withdrawSound(at: now)
                sounds.removeAll()
            }
        case .video: break
        }
        isChanged = true
    }

    /// Everything of the epoch before is void.
    private mutating func leave(at now: Instant) {
        endPursuit(at: now)
        pendingSeek = clock.position(at: now)
        outputs.removeAll { $0.isVoidAfterSeek }
        withdrawSound(at: now)
        pictures.removeAll()
        sounds.removeAll()
        metadata.removeAll()
        (isReadToEnd, failure, hasEnded, hasHandedEnd) = (false, nil, false, false)
        (stalledAt, lastDue, loaded, untoldLanding) = (nil, nil, nil, nil)
        isFilling = true
        if subtitle != nil {
            subtitle = nil
            tell(.subtitle(nil))
        }
        if isOpen { phase = .landing(nil) }
        setBuffering(true, at: now)
        isChanged = true
    }

    // MARK: Telling

    mutating func tell(_ kind: PipelineEvent.Kind) { outputs.append(.event(PipelineEvent(kind, of: clock.epoch))) }

    mutating func setBuffering(_ buffering: Bool, at now: Instant) {
        clock.setBuffering(buffering, of: clock.epoch, at: now)
        guard saysBuffering != buffering else { return }
        saysBuffering = buffering
        tell(.buffering(buffering))
    }

    /// What was handed on is heard no more, and is handed on anew when it goes on.
    mutating func withdrawSound(at now: Instant) {
        outputs.removeAll { if case .hear = $0 { true } else { false } }
        if sounds.isHanded { outputs.append(.withdrawSound) }
        sounds.rewind()
        (tempo, tempoEnd, hasHandedEnd) = (nil, nil, false)
    }

    /// When what is to move now moves: with sound, when that can be heard.
    func beginningOfPlay(at now: Instant) -> Instant {
        guard phase == .showing, !clock.isBuffering, awaited.contains(.audio) else { return now }
        return now + soundLead
    }
}

extension MediaPresentation.Output {
    /// It means nothing any more in another epoch.
    fileprivate var isVoidAfterSeek: Bool {
        switch self {
        case .show, .hear: true
        case .withdrawSound, .interruptReader: false
        case .event(let event):
            switch event.kind {
            case .arrived, .landed, .position, .metadata, .ended: true
            case .overview, .buffering, .subtitle, .dimensions, .evicted, .failed: false
            }
        }
    }
}
