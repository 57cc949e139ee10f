import PCast
import PCastCore

/// The state of a live stream that a renderer displays: its position, its stalls and its end. Inputs are displayed
/// frames and the time.
///
/// Positions count from the first frame by the stream's clock. The wall-clock time is the capture time of the frames,
/// by the sender's clock. A pause discards the media that arrives meanwhile, except in the window.
///
/// A stream is seekable if it has a window. Its positions are then capture times since one of them, so that they hold
/// for the media in real time and for that of the window, which has other timestamps. The first frame has its distance
/// from the beginning of the window as its position.
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
    /// The capture time of position zero of a seekable stream; nil before the first frame with a capture time.
    private var wallOrigin: WallTime?
    /// The capture times of the ends of the window; nil if the stream is not seekable.
    private var window: ClosedRange<WallTime>?
    /// The time at which the window was reported last.
    private var lastReport: Instant?
    /// The seek whose frame is awaited; nil for none.
    private(set) var awaitedSeek: Destination?
    private var tracks: [ContentTrack] = []
    /// Whether there have been captions.
    private var hasCaptions = false
    /// Whether captions are shown.
    private var showsCaptions = true
    /// The text of the captions on the displayed frame, shown or not; nil for none.
    private var caption: String?

    /// The destination of a seek.
    enum Destination: Hashable, Sendable {
        /// A capture time in the window, whose media is not loaded yet.
        case time(WallTime)
        /// The frame of the window with a capture time, which was passed to the renderer.
        case frame(WallTime)
        /// The frames in real time, which were captured after a time.
        case live(WallTime)
    }

    /// The distance from the end of the window within which a seek leads to real time.
    static let liveDistance = TimeSpan.seconds(1)
    /// The distance of a frame from the destination within which it is the frame of a seek. Frames in real time that the
    /// renderer holds may precede it.
    private static let frameTolerance = TimeSpan.seconds(1)
    /// The distance of a capture time from that of the newest frame in real time within which a frame is in real time.
    private static let liveTolerance = TimeSpan.seconds(5)
    /// The step back of a capture time from which on the sender's clock was set back.
    private static let clockStep = TimeSpan.seconds(1)
    /// The interval in which a changed window is reported.
    private static let windowInterval = TimeSpan.milliseconds(500)

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

    /// Begins a seek to a position and returns its epoch. ``awaitedSeek`` is its destination, and no frame is displayed
    /// until it is reached. If the stream is not seekable, the current position is reported as the result.
    mutating func seek(to position: TimeSpan, at now: Instant) -> PlayheadEpoch {
        guard !isOver, let wallOrigin, let window, hasLanded else {
            if hasLanded, !isOver { notify(.landed(self.position)) }
            return clock.epoch
        }
        let epoch = clock.seek(to: position, at: now)
        let time = wallOrigin + TimeSpan(clock.playhead(at: now).position)
        awaitedSeek =
            time >= window.upperBound - Self.liveDistance
            ? .live(window.upperBound - Self.liveTolerance) : .time(time)
        if !reportsBuffering {
            reportsBuffering = true
            notify(.buffering(true))
        }
        return epoch
    }

    /// Records that the destination in the window is reached with the frame of a capture time; nil if that is unknown. It
    /// has no effect on a seek to real time, whose frames are known by their capture times.
    mutating func reached(_ captureTime: WallTime?) {
        if case .time(let time) = awaitedSeek { awaitedSeek = .frame(captureTime ?? time) }
    }

    /// Records that the window cannot be played, so that frames in real time are displayed.
    mutating func returned() { if awaitedSeek != nil { land() } }

    private mutating func land() {
        awaitedSeek = nil
        hasLanded = false
    }

    /// Sets the window, and reports it from time to time.
    mutating func set(window: ClosedRange<WallTime>?, at now: Instant) {
        self.window = window
        guard !isOver, let range = seekableRange else { return }
        clock.setSeekableRange(range, of: clock.epoch)
        guard lastReport.map({ now - $0 >= Self.windowInterval }) ?? true else { return }
        lastReport = now
        notifyTracks()
    }

    /// The positions of the window; nil if the stream is not seekable, or before its first capture time.
    private var seekableRange: ClosedRange<TimeSpan>? {
        guard let wallOrigin, let window else { return nil }
        let beginning = max(.zero, window.lowerBound - wallOrigin)
        return beginning...max(beginning, window.upperBound - wallOrigin)
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
        notify(
            .overview(
                ContentOverview(
                    kind: .live, tracks: all, selected: selected, seekableRange: seekableRange,
                    liveEdge: seekableRange == nil ? nil : .zero)))
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

    /// Returns whether a frame is displayed: the first one always, and later ones unless playback is paused or a seek is
    /// under way.
    func shows(_ captureTime: WallTime? = nil) -> Bool {
        switch awaitedSeek {
        case .time: false
        case .frame(let time): !isOver && captureTime.map { ($0 - time).magnitude <= Self.frameTolerance } ?? true
        case .live(let time): !isOver && captureTime.map { $0 >= time } ?? true
        case nil: !isOver && (clock.isPlaying || !hasLanded)
        }
    }

    /// Records that a frame is displayed, or the first audio of a stream without video. `size` is the size of the
    /// frame; nil for audio. `wallTime` is the wall-clock time at `now`, for a stream without capture times.
    mutating func presented(
        _ timestamp: MediaTime, captured captureTime: WallTime?, size: Dimensions? = nil, at now: Instant,
        wallTime: WallTime? = nil
    ) {
        guard shows(captureTime) else { return }
        if awaitedSeek != nil { land() }
        place(timestamp.span, captured: captureTime, wallTime)
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

    /// Sets the position of a displayed frame.
    private mutating func place(_ time: TimeSpan, captured captureTime: WallTime?, _ wallTime: WallTime?) {
        if window != nil, let wallOrigin, let captureTime, let distance = captureTime.span(since: wallOrigin) {
            if !hasLanded {
                position = max(.zero, distance)
            } else if distance > position - Self.clockStep {
                position = max(position, distance)
            } else {
                // The sender's clock was set back: the position continues.
                self.wallOrigin = captureTime - position
            }
            origin = time - position
            return
        }
        if origin == nil, let window, let wallTime = captureTime ?? wallTime {
            position = max(.zero, wallTime - window.lowerBound)
        }
        // If the stream's timestamps restart, the position continues from its last value.
        if origin == nil || time - origin! < position { origin = time - position }
        position = time - origin!
        if window != nil, let captureTime { wallOrigin = captureTime - position }
    }

    /// The time at which the stream counts as buffering; nil while no frame is expected.
    var deadline: Instant? {
        guard hasVideo, hasLanded, awaitedSeek == nil, !reportsBuffering, !isOver, clock.isPlaying else { return nil }
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
        if window != nil {
            // The window ends with the stream.
            window = nil
            clock.setSeekableRange(nil, of: clock.epoch)
            notifyTracks()
        }
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
