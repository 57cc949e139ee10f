import PCast
import PCastCore

/// The state of a live stream that a renderer displays: its position, its stalls and its end. Inputs are displayed
/// frames and the time.
///
/// Positions count from the first frame by the stream's clock. The wall-clock time is the capture time of the frames,
/// by the sender's clock. The stream is not seekable, and a pause discards the media that arrives meanwhile.
struct StreamPresentation {
    /// The time without a frame after which the stream is buffering.
    static let timeout = TimeSpan.milliseconds(500)
    /// The minimum distance of two anchors of wall-clock time.
    private static let anchorInterval = TimeSpan.seconds(1)
    /// The time without a capture time after which the local clock is used. The sender's clock is in RTCP sender
    /// reports (RFC 3550, section 6.4.1), which may never arrive.
    static let captureTimeout = TimeSpan.seconds(5)

    private(set) var clock: PlayheadClock
    /// Whether the stream has ended or failed.
    private(set) var isOver = false
    private var events: [PipelineEvent] = []
    /// The stream's time at position zero; nil before the first frame.
    private var origin: TimeSpan?
    private var position = TimeSpan.zero
    private var lastShown: Instant?
    private var lastAnchor: TimeSpan?
    private var reportsBuffering = true
    private var hasLanded = false
    private var dimensions: Dimensions?
    private var hasVideo = true
    private var tracks: [ContentTrack] = []
    /// Whether there have been captions.
    private var hasCaptions = false
    /// Whether captions are shown.
    private var showsCaptions = true
    /// The text of the captions on the displayed frame, shown or not; nil for none.
    private var caption: String?

    /// The identifier of the track of captions.
    static let captionTrack = ContentTrack(id: .init(rawValue: "captions"), kind: .subtitles)

    /// Creates the state of a paused stream that is not open.
    init(at now: Instant) {
        clock = PlayheadClock(at: now)
        notify(.buffering(true))
    }

    /// Returns the next event in order; nil if there is none.
    mutating func poll() -> PipelineEvent? { events.isEmpty ? nil : events.removeFirst() }

    /// Adds an event.
    private mutating func notify(_ kind: PipelineEvent.Kind) { events.append(PipelineEvent(kind, of: clock.epoch)) }

    // MARK: Commands

    /// Plays.
    mutating func play(at now: Instant) { clock.play(at: now) }

    /// Pauses.
    mutating func pause(at now: Instant) { clock.pause(at: now) }

    /// Reports the current position as the result of a seek, and returns the current epoch.
    mutating func seek() -> PlayheadEpoch {
        if hasLanded, !isOver { notify(.landed(position)) }
        return clock.epoch
    }

    // MARK: Events

    /// Records the tracks of the stream.
    mutating func opened(_ tracks: [ContentTrack]) {
        guard !isOver else { return }
        hasVideo = tracks.contains { $0.kind == .video }
        self.tracks = tracks
        notifyTracks()
    }

    /// Reports the tracks. Captions are a track after the first one, because a stream does not announce them.
    private mutating func notifyTracks() {
        let all = hasCaptions ? tracks + [Self.captionTrack] : tracks
        var selected = Set(all.map(\.id))
        if !showsCaptions { selected.remove(Self.captionTrack.id) }
        notify(.overview(ContentOverview(kind: .live, tracks: all, selected: selected)))
    }

    // MARK: Captions

    /// Records the text of the captions on the frame that was displayed last; nil for none.
    mutating func show(caption: String?) {
        guard !isOver, caption != self.caption else { return }
        self.caption = caption
        if !hasCaptions {
            hasCaptions = true
            notifyTracks()
        }
        if showsCaptions { notify(.subtitle(caption)) }
    }

    /// Shows or hides captions.
    mutating func select(captions isSelected: Bool) {
        guard !isOver, isSelected != showsCaptions else { return }
        showsCaptions = isSelected
        if hasCaptions { notifyTracks() }
        if caption != nil { notify(.subtitle(isSelected ? caption : nil)) }
    }

    /// Whether a frame is displayed: the first one always, and later ones unless playback is paused.
    func shows() -> Bool { !isOver && (clock.isPlaying || !hasLanded) }

    /// Records that a frame is displayed, or the first audio of a stream without video. `size` is the size of the
    /// frame; nil for audio. `wallTime` is the wall-clock time at `now`, for a stream without capture times.
    mutating func presented(
        _ timestamp: MediaTime, captured captureTime: WallTime?, size: Dimensions? = nil, at now: Instant,
        wallTime: WallTime? = nil
    ) {
        guard shows() else { return }
        let time = timestamp.span
        // If the stream's timestamps restart, the position continues from its last value.
        if origin == nil || time - origin! < position { origin = time - position }
        position = time - origin!
        lastShown = now
        clock.show(position, of: clock.epoch, at: now)
        if let captureTime, lastAnchor.map({ position - $0 >= Self.anchorInterval }) ?? true {
            lastAnchor = position
            let anchor = TimecodeAnchor(position: position, wallTime: captureTime, source: .capture)
            clock.anchor(clock.epoch) { $0.add(anchor) }
        } else if clock.anchors.isEmpty, let wallTime, size == nil || position >= Self.captureTimeout {
            // A live stream without capture times: its newest frame counts as captured now.
            let anchor = TimecodeAnchor(position: position, wallTime: wallTime, source: .liveEdge)
            clock.anchor(clock.epoch) { $0.add(anchor) }
        }
        if let size, size != dimensions {
            dimensions = size
            notify(.dimensions(size))
        }
        if !hasLanded {
            hasLanded = true
            notify(.landed(position))
        }
        if reportsBuffering {
            reportsBuffering = false
            notify(.buffering(false))
        }
        if clock.isPlaying { notify(.position(position)) }
    }

    /// The time at which the stream counts as buffering; nil while no frame is expected.
    var deadline: Instant? {
        guard hasVideo, hasLanded, !reportsBuffering, !isOver, clock.isPlaying else { return nil }
        return lastShown.map { $0 + Self.timeout }
    }

    /// Reports buffering if its deadline has passed.
    mutating func advance(to now: Instant) {
        guard let deadline, now >= deadline else { return }
        // The position stops at the last displayed frame.
        clock.setAvailable(position, of: clock.epoch, at: now)
        clock.setBuffering(true, of: clock.epoch, at: now)
        reportsBuffering = true
        notify(.buffering(true))
    }

    /// Restarts the deadline of buffering after a pause.
    mutating func resumed(at now: Instant) { if lastShown != nil { lastShown = now } }

    /// Records and reports the end of the stream. Ends that the publisher did not intend are failures.
    mutating func ended(_ info: StreamEndedInfo, name: String, at now: Instant) {
        guard !isOver else { return }
        clock.pause(at: now)
        switch info.reason {
        case .ended, .pcastStop, .custom, .appBackground: notify(.ended)
        case .failed, .censored, .maintenance, .capacity, .overload:
            notify(.failed(.brokeOff(name, reason: info.reasonDescription)))
        }
        isOver = true
    }

    /// Records and reports a failure.
    mutating func failed(_ error: PlaybackError, at now: Instant) {
        guard !isOver else { return }
        clock.pause(at: now)
        notify(.failed(error))
        isOver = true
    }
}
