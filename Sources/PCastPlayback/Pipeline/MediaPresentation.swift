package import PCastCore
import PCastRendering

/// The decisions of a pipeline without its threads: what to display and to play of an item, and when. Inputs are
/// commands, items of the content and the time. It is polled for outputs and never blocks.
///
/// ``PlayheadClock`` determines when a position is due, for audio and video alike, so lip sync follows from both being
/// on time. Audio must be sent earlier by the latency of the output, so playback begins later by that time.
struct MediaPresentation {
    /// An action of the pipeline.
    enum Output {
        /// Display a frame.
        case show(VideoFrame)
        /// Play audio at a time.
        case play(AudioFrame, at: Instant)
        /// Discard the audio that was sent and not played.
        case discardAudio
        /// Report an event.
        case event(PipelineEvent)
        /// Interrupt the reader, which has another task.
        case interruptReader
    }

    /// The phase of an epoch.
    enum Phase: Equatable {
        /// The content is not open.
        case opening
        /// The first frame or audio of the epoch is pending; nil before the content was sought.
        case reachedPosition(TimeSpan?)
        /// The epoch is displayed.
        case showing
        /// Playback has failed.
        case failed
    }

    /// The loaded duration, as reported by the content, that ends buffering after a stall.
    static let resumption = TimeSpan.milliseconds(1_500)
    /// The maximum time for which buffering waits for that duration.
    static let timeout = TimeSpan.seconds(3)
    /// The interval at which that duration is checked.
    static let lookInterval = TimeSpan.milliseconds(100)
    /// The distance between both media at which playback does not wait for the later one, which has a gap.
    static let farthestApart = TimeSpan.seconds(1)

    /// The clock of the player.
    var clock: PlayheadClock
    var phase = Phase.opening
    /// The outputs in order.
    var outputs: [Output] = []
    /// Whether an input may have caused new outputs.
    var isChanged = true

    // The media.
    var overview: ContentOverview?
    var awaited: Set<ContentTrack.Kind> = []
    var videoQueue = VideoQueue()
    var audioQueue = AudioQueue()
    var subtitles = SubtitleLine()
    var metadata = MetadataQueue()
    /// The first position of the epoch.
    var beginning = TimeSpan.zero
    /// The position up to which the content was read.
    var readPosition = TimeSpan.zero
    /// Whether the content was read to its end.
    var isReadToEnd = false
    /// The failure to report after all frames were displayed; nil for none.
    var failure: PlaybackError?
    /// The end of the loaded media without gaps, as reported by the content; nil if unknown.
    var loaded: TimeSpan?

    // The tasks of the reader.
    var isOpen = false
    var pendingSeek: TimeSpan?
    var pendingSelections: [ContentTrack.Kind: ContentTrack.ID?] = [:]
    var isFilling = true

    // The outputs so far.
    var hasEnded = false
    /// The time at which buffering after playback began; nil otherwise.
    var stalledAt: Instant?
    /// The position of a seek whose completion is not reported yet; nil for none.
    var unreportedSeekPosition: TimeSpan?
    var lastDue: Instant?
    var lastReport: Instant?
    var reportsBuffering = true
    var dimensions: Dimensions?
    var subtitle: String?
    var statistics = PresentationStatistics()
    var edgeCatchUp = LiveEdgeCatchUp()
    var playout = SynchronizedPlayout()
    /// The wall-clock time at the origin of the monotonic clock; nil if unknown.
    var wallClockOrigin: WallTime?
    /// Whether playback is meant to be at the live edge: it began there, and the user has neither paused nor sought since.
    var followsLiveEdge = false
    /// The end of the last displayed frame; nil before the first of an epoch.
    var shownEnd: TimeSpan?

    // The audio that is sent.
    /// The latency of the audio output.
    var audioOutputLatency = TimeSpan.zero
    var stretcher: TimeStretcher?
    /// The position at which the audio in `stretcher` begins.
    var stretcherOrigin = TimeSpan.zero
    /// The position at which the audio in `stretcher` ends; nil if it is to be recreated.
    var stretcherEnd: TimeSpan?
    var hasSentEnd = false

    /// The wall-clock time of media without times; nil for none.
    private(set) var wallClock: WallClockMapping?

    /// Creates a presentation that is paused and not open.
    init(at now: Instant, wallClock: WallClockMapping? = nil) {
        self.wallClock = wallClock
        clock = PlayheadClock(at: now)
        notify(.buffering(true))
    }

    // MARK: Commands

    /// Plays. At the end it has no effect until a seek.
    mutating func play(at now: Instant) {
        guard !clock.isPlaying else { return }
        beginCatchUp(at: now)
        clock.play(at: beginningOfPlay(at: now))
        isChanged = true
    }

    /// Pauses and discards audio that was sent.
    mutating func pause(at now: Instant) {
        guard clock.isPlaying else { return }
        clock.pause(at: now)
        followsLiveEdge = false
        discardAudio(at: now)
        isChanged = true
    }

    /// Sets the playback rate at a user's request, and restarts the pursuit of the live edge.
    mutating func setRate(_ rate: Double, at now: Instant) {
        endCatchUp(at: now)
        play(at: rate, now)
    }

    /// Sets the playback rate.
    mutating func play(at rate: Double, _ now: Instant) {
        let before = clock.playbackRate
        clock.setRate(rate, at: now)
        guard clock.playbackRate != before else { return }
        discardAudio(at: now)
        isChanged = true
    }

    /// Seeks to a position and returns the epoch of the seek. Content that is not seekable stays at its position, which
    /// is reported.
    mutating func seek(to position: TimeSpan, at now: Instant) -> PlayheadEpoch {
        guard phase != .failed else { return clock.epoch }
        if isOpen, clock.seekableRange == nil {
            notify(.landed(clock.position(at: now)))
            isChanged = true
            return clock.epoch
        }
        let epoch = clock.seek(to: position, at: now)
        followsLiveEdge = false
        leave(at: now)
        return epoch
    }

    /// Seeks to the frame of a wall-clock time and returns the epoch of the seek; nil, without effect, if its position
    /// is unknown.
    mutating func seek(to wallTime: WallTime, at now: Instant) -> PlayheadEpoch? {
        guard phase != .failed, let epoch = clock.seek(to: wallTime, at: now) else { return nil }
        followsLiveEdge = false
        leave(at: now)
        return epoch
    }

    /// Seeks to a position in the current window. This is reported first, so that the following buffering is not taken
    /// for a stall.
    mutating func evict(to position: TimeSpan, at now: Instant) {
        _ = clock.seek(to: position, at: now)
        notify(.evicted(clock.position(at: now)))
        leave(at: now)
    }

    /// Selects a track of a kind, or none if `track` is nil.
    mutating func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind, at now: Instant) {
        guard phase != .failed else { return }
        pendingSelections[kind] = track
        switch kind {
        case .subtitles: subtitles.removeAll()
        case .audio:
            if track == nil {
                discardAudio(at: now)
                audioQueue.removeAll()
            }
        case .video: break
        }
        isChanged = true
    }

    /// Discards all media and results of the previous epoch.
    private mutating func leave(at now: Instant) {
        endCatchUp(at: now)
        pendingSeek = clock.position(at: now)
        outputs.removeAll { $0.isVoidAfterSeek }
        discardAudio(at: now)
        videoQueue.removeAll()
        audioQueue.removeAll()
        metadata.removeAll()
        (isReadToEnd, failure, hasEnded, hasSentEnd) = (false, nil, false, false)
        (stalledAt, lastDue, loaded, unreportedSeekPosition, shownEnd) = (nil, nil, nil, nil, nil)
        isFilling = true
        if subtitle != nil {
            subtitle = nil
            notify(.subtitle(nil))
        }
        if isOpen { phase = .reachedPosition(nil) }
        setBuffering(true, at: now)
        isChanged = true
    }

    // MARK: Events

    /// Adds an event.
    mutating func notify(_ kind: PipelineEvent.Kind) { outputs.append(.event(PipelineEvent(kind, of: clock.epoch))) }

    /// Records whether there is no frame to display, and reports a change.
    mutating func setBuffering(_ buffering: Bool, at now: Instant) {
        clock.setBuffering(buffering, of: clock.epoch, at: now)
        guard reportsBuffering != buffering else { return }
        reportsBuffering = buffering
        notify(.buffering(buffering))
    }

    /// Discards audio that was sent and not played. It is sent again when playback resumes.
    mutating func discardAudio(at now: Instant) {
        outputs.removeAll { if case .play = $0 { true } else { false } }
        if audioQueue.hasUnplayedAudio { outputs.append(.discardAudio) }
        audioQueue.rewind()
        (stretcher, stretcherEnd, hasSentEnd) = (nil, nil, false)
    }

    /// Returns the time at which the position starts to advance: now, when audio can be heard, or when the frame is due.
    func beginningOfPlay(at now: Instant) -> Instant {
        guard phase == .showing, !clock.isBuffering else { return now }
        return start(notBefore: awaited.contains(.audio) ? now + audioOutputLatency : now, at: now)
    }
}

extension MediaPresentation.Output {
    /// Whether the output is invalid in another epoch.
    fileprivate var isVoidAfterSeek: Bool {
        switch self {
        case .show, .play: true
        case .discardAudio, .interruptReader: false
        case .event(let event):
            switch event.kind {
            case .arrived, .landed, .position, .metadata, .ended: true
            case .overview, .buffering, .subtitle, .dimensions, .evicted, .failed: false
            }
        }
    }
}

/// The statistics of a pipeline since its beginning.
package struct PresentationStatistics: Hashable, Sendable {
    /// The number of displayed frames.
    package var framesShown = 0
    /// The number of frames that were dropped because they were late and the next one was also due.
    package var framesDropped = 0
    /// The number of frames that were dropped because of a higher playback rate.
    package var framesThinned = 0
    /// The number of stalls during playback.
    package var stalls = 0
    /// The maximum time by which a frame was displayed after its due time.
    package var worstLateness = TimeSpan.zero

    /// Creates statistics without frames.
    package init() {}
}

/// A queue of timed metadata until the playhead reaches it.
struct MetadataQueue {
    /// The maximum number of entries. The earliest are removed.
    private static let capacity = 1_024

    private var waiting: [TimedMetadata] = []

    /// The position of the first entry; nil if the queue is empty.
    var first: TimeSpan? { waiting.first?.start }

    /// Adds metadata, unless it ends before `position`.
    mutating func add(_ metadata: TimedMetadata, after position: TimeSpan) {
        guard metadata.position + max(metadata.duration ?? .zero, .zero) >= position.duration else { return }
        waiting.insert(metadata, at: waiting.firstIndex { $0.position > metadata.position } ?? waiting.endIndex)
        if waiting.count > Self.capacity { waiting.removeFirst() }
    }

    /// Returns and removes the first entry at or before a position; nil if there is none.
    mutating func take(upTo position: TimeSpan) -> TimedMetadata? {
        guard let first = waiting.first, first.start <= position else { return nil }
        return waiting.removeFirst()
    }

    /// Removes all entries.
    mutating func removeAll() { waiting.removeAll() }
}

/// The texts of a subtitle track, each with the range of positions in which it is displayed. They are kept across
/// seeks, because the content may not be read again. The earliest are removed.
struct SubtitleLine {
    private struct Text: Hashable {
        var text: String
        var begin: TimeSpan
        var end: TimeSpan
    }

    /// The maximum number of texts.
    private static let capacity = 1_024

    /// The texts, ordered by their beginning and then by their arrival.
    private var texts: [Text] = []

    /// Adds a text for a range of positions. An empty text ends all texts that are displayed at its beginning.
    mutating func add(_ text: String, over range: ClosedRange<TimeSpan>) {
        let (begin, end) = (range.lowerBound, range.upperBound)
        if text.isEmpty {
            for index in texts.indices where texts[index].begin < begin && texts[index].end > begin {
                texts[index].end = begin
            }
            return
        }
        let new = Text(text: text, begin: begin, end: end)
        guard begin < end, !texts.contains(new) else { return }
        texts.insert(new, at: texts.firstIndex { $0.begin > begin } ?? texts.endIndex)
        if texts.count > Self.capacity { texts.removeFirst() }
    }

    /// Returns the texts at a position, one per line; nil if there are none.
    func text(at position: TimeSpan) -> String? {
        let shown = texts.filter { $0.begin <= position && position < $0.end }
        return shown.isEmpty ? nil : shown.map(\.text).joined(separator: "\n")
    }

    /// Returns the next position after `position` at which the text changes; nil if there is none.
    func change(after position: TimeSpan) -> TimeSpan? {
        var next: TimeSpan?
        for text in texts {
            for edge in [text.begin, text.end] where edge > position { next = min(next ?? edge, edge) }
        }
        return next
    }

    /// Removes all texts.
    mutating func removeAll() { texts.removeAll() }
}
