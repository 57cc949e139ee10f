import PCast
import PCastCore

/// What is told of a live stream that a renderer shows: where it is, when its pictures stop, how it ended. It is told what is
/// shown, and the time.
///
/// Positions count from the first picture by the stream's own clock. Wall time is the sender's, by when each picture was
/// captured. It cannot be gone about in, and is played as fast as it comes: a pause leaves out what comes meanwhile.
struct StreamPresentation {
    /// After so long without a picture there is nothing to show.
    static let timeout = TimeSpan.milliseconds(500)
    /// Between two anchors of wall time.
    private static let anchorInterval = TimeSpan.seconds(1)
    /// After so long without a capture time none is expected: the sender's clock is in its reports, and none has come.
    static let captureTimeout = TimeSpan.seconds(5)

    private(set) var clock: PlayheadClock
    private(set) var isOver = false
    private var events: [PipelineEvent] = []
    /// The stream's time at position zero; nil before the first picture.
    private var origin: TimeSpan?
    private var position = TimeSpan.zero
    private var lastShown: Instant?
    private var lastAnchor: TimeSpan?
    private var saysBuffering = true
    private var hasLanded = false
    private var dimensions: Dimensions?
    private var hasPictures = true

    init(at now: Instant) {
        clock = PlayheadClock(at: now)
        tell(.buffering(true))
    }

    /// The next event, in order; nil when there is none.
    mutating func poll() -> PipelineEvent? { events.isEmpty ? nil : events.removeFirst() }

    private mutating func tell(_ kind: PipelineEvent.Kind) { events.append(PipelineEvent(kind, of: clock.epoch)) }

    // MARK: What is asked for

    mutating func play(at now: Instant) { clock.play(at: now) }

    mutating func pause(at now: Instant) { clock.pause(at: now) }

    /// It stays where it is, and says so.
    mutating func seek() -> PlayheadEpoch {
        if hasLanded, !isOver { tell(.landed(position)) }
        return clock.epoch
    }

    // MARK: What happens

    mutating func opened(_ tracks: [ContentTrack]) {
        guard !isOver else { return }
        hasPictures = tracks.contains { $0.kind == .video }
        tell(.overview(ContentOverview(kind: .live, tracks: tracks, selected: Set(tracks.map(\.id)))))
    }

    /// Whether a picture that is due is to be shown: the first is in any case, the others while it plays.
    func shows() -> Bool { !isOver && (clock.isPlaying || !hasLanded) }

    /// A picture is presented now, or the first sound where there are no pictures.
    ///
    /// - Parameters:
    ///   - size: of the picture; nil of sound.
    ///   - wallTime: the time of day at `now`. It counts for a stream that never has capture times.
    mutating func presented(
        _ timestamp: MediaTime, captured captureTime: WallTime?, size: Dimensions? = nil, at now: Instant,
        wallTime: WallTime? = nil
    ) {
        guard shows() else { return }
        let time = timestamp.span
        // Where the stream begins to count anew, the position goes on from where it was.
        if origin == nil || time - origin! < position { origin = time - position }
        position = time - origin!
        lastShown = now
        clock.show(position, of: clock.epoch, at: now)
        if let captureTime, lastAnchor.map({ position - $0 >= Self.anchorInterval }) ?? true {
            lastAnchor = position
            let anchor = TimecodeAnchor(position: position, wallTime: captureTime, source: .capture)
            clock.anchor(clock.epoch) { $0.add(anchor) }
        } else if clock.anchors.isEmpty, let wallTime, size == nil || position >= Self.captureTimeout {
            // It is live: its newest frame counts as made now.
            let anchor = TimecodeAnchor(position: position, wallTime: wallTime, source: .liveEdge)
            clock.anchor(clock.epoch) { $0.add(anchor) }
        }
        if let size, size != dimensions {
            dimensions = size
            tell(.dimensions(size))
        }
        if !hasLanded {
            hasLanded = true
            tell(.landed(position))
        }
        if saysBuffering {
            saysBuffering = false
            tell(.buffering(false))
        }
        if clock.isPlaying { tell(.position(position)) }
    }

    /// When it has waited for long enough; nil while it does not wait.
    var deadline: Instant? {
        guard hasPictures, hasLanded, !saysBuffering, !isOver, clock.isPlaying else { return nil }
        return lastShown.map { $0 + Self.timeout }
    }

    mutating func advance(to now: Instant) {
        guard let deadline, now >= deadline else { return }
        // Nothing was shown since: there it stands.
        clock.setAvailable(position, of: clock.epoch, at: now)
        clock.setBuffering(true, of: clock.epoch, at: now)
        saysBuffering = true
        tell(.buffering(true))
    }

    /// After a pause what comes is waited for as at the beginning of it.
    mutating func resumed(at now: Instant) { if lastShown != nil { lastShown = now } }

    mutating func ended(_ info: StreamEndedInfo, name: String, at now: Instant) {
        guard !isOver else { return }
        clock.pause(at: now)
        switch info.reason {
        case .ended, .pcastStop, .custom, .appBackground: tell(.ended)
        case .failed, .censored, .maintenance, .capacity, .overload:
            tell(.failed(.brokeOff(name, reason: info.reasonDescription)))
        }
        isOver = true
    }

    mutating func failed(_ error: PlaybackError, at now: Instant) {
        guard !isOver else { return }
        clock.pause(at: now)
        tell(.failed(error))
        isOver = true
    }
}
