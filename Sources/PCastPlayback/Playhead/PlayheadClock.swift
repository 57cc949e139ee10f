public import PCastCore

/// The clock of one player, which is the only source of its position. Inputs are commands, displayed frames and the
/// time.
///
/// The position advances from the last displayed frame at the playback rate, up to the end of the available media.
/// Within an epoch it never decreases during playback.
package struct PlayheadClock: Sendable {
    /// The current epoch, which each item and each seek increments.
    package private(set) var epoch = PlayheadEpoch()
    /// The timecode anchors of the current item.
    package private(set) var anchors = TimecodeAnchors()
    /// The range of positions for seeks; nil if the content is not seekable.
    package private(set) var seekableRange: ClosedRange<TimeSpan>?
    /// The requested playback rate, as a factor, which is kept during pauses.
    package private(set) var playbackRate = 1.0
    /// Whether playback was requested and not paused since.
    package private(set) var isPlaying = false
    /// Whether there is no frame to display.
    package private(set) var isBuffering = true
    /// Whether a seek has not displayed its first frame yet.
    package private(set) var isSeeking = false

    /// The position at `shownAt`.
    private var shown = TimeSpan.zero
    /// The time of the last change.
    private var shownAt: Instant
    /// The end of the media that can be displayed; nil if unknown.
    private var available: TimeSpan?

    /// The supported playback rates.
    package static let rates = 0.25...4.0

    /// Creates a clock that is paused and buffering at position zero.
    package init(at now: Instant) { shownAt = now }

    /// Begins another item at a position, without anchors and without a seekable range. Returns its epoch.
    package mutating func begin(at position: TimeSpan = .zero, now: Instant) -> PlayheadEpoch {
        epoch = epoch.next
        anchors = TimecodeAnchors()
        (seekableRange, available) = (nil, nil)
        (isBuffering, isSeeking) = (true, false)
        (shown, shownAt) = (position, now)
        return epoch
    }

    /// Starts the position from now on.
    package mutating func play(at now: Instant) {
        fixPosition(at: now)
        isPlaying = true
    }

    /// Stops the position from now on.
    package mutating func pause(at now: Instant) {
        fixPosition(at: now)
        isPlaying = false
    }

    /// Sets the playback rate, clamped to ``rates``. A value that is not finite or not positive counts as 1.
    package mutating func setRate(_ rate: Double, at now: Instant) {
        fixPosition(at: now)
        playbackRate = rate.isFinite && rate > 0 ? min(max(rate, Self.rates.lowerBound), Self.rates.upperBound) : 1
    }

    /// Records whether there is no frame to display in an epoch. Returns false, without effect, if the epoch is not the
    /// present one.
    @discardableResult
    package mutating func setBuffering(_ buffering: Bool, of epoch: PlayheadEpoch, at now: Instant) -> Bool {
        guard epoch == self.epoch else { return false }
        fixPosition(at: now)
        isBuffering = buffering
        return true
    }

    /// Seeks to a position, clamped to the seekable range if there is one. The position changes at once and stops until
    /// a frame of it is displayed. Returns the epoch of that frame. An earlier seek that has not completed never does.
    package mutating func seek(to position: TimeSpan, at now: Instant) -> PlayheadEpoch {
        epoch = epoch.next
        let range = seekableRange ?? position...position
        (shown, shownAt) = (min(max(position, range.lowerBound), range.upperBound), now)
        available = nil
        isSeeking = true
        return epoch
    }

    /// Seeks to the frame of a wall-clock time (`bridgeTime` of an overlay). Returns nil, without effect, if the
    /// position of that time is unknown.
    package mutating func seek(to wallTime: WallTime, at now: Instant) -> PlayheadEpoch? {
        guard let range = seekableRange, let position = anchors.position(of: wallTime, in: range) else { return nil }
        return seek(to: position, at: now)
    }

    /// Records that a frame or audio was displayed. The first one of an epoch completes its seek, whatever its
    /// position. `available` is the end of the media that can be displayed after it; nil if unknown. Returns false,
    /// without effect, if the epoch is not the current one.
    @discardableResult
    package mutating func show(
        _ position: TimeSpan, of epoch: PlayheadEpoch, available: TimeSpan? = nil, at now: Instant
    ) -> Bool {
        guard epoch == self.epoch else { return false }
        let isAfterSeek = isSeeking
        let reached = self.position(at: now)
        isSeeking = false
        isBuffering = false
        self.available = available.map { max($0, position) }
        // A frame that is slightly late stops the position. It does not move it back.
        (shown, shownAt) = (isAfterSeek ? position : max(position, reached), now)
        return true
    }

    /// Sets the end of the media that can be displayed; nil if unknown. The position advances to it as if the earlier
    /// end had never stopped it.
    package mutating func setAvailable(_ end: TimeSpan?, of epoch: PlayheadEpoch, at now: Instant) {
        if epoch == self.epoch { available = end.map { max($0, position(at: now)) } }
    }

    /// Returns the time at which the position will be reached at the current rate; nil while the rate is zero. The end
    /// of the available media is not considered.
    package func instant(of position: TimeSpan) -> Instant? {
        rate > 0 ? shownAt + TimeSpan(seconds: (position - shown).seconds / rate) : nil
    }

    /// Sets the seekable range, after a reload or from the demuxer. The position does not change: the displayed frame
    /// stays, and ``Playhead/isEvicted`` reports that playback cannot continue there.
    package mutating func setSeekableRange(_ range: ClosedRange<TimeSpan>?, of epoch: PlayheadEpoch) {
        if epoch == self.epoch { seekableRange = range }
    }

    /// Changes the timecode anchors, unless the epoch is not the current one.
    package mutating func anchor(_ epoch: PlayheadEpoch, _ change: (inout TimecodeAnchors) -> Void) {
        if epoch == self.epoch { change(&anchors) }
    }

    /// The current speed of the position, as a factor.
    private var rate: Double { isPlaying && !isBuffering && !isSeeking ? playbackRate : 0 }

    /// Whether audio and video advance.
    var isMoving: Bool { rate > 0 }

    /// Returns the position at a time.
    func position(at now: Instant) -> TimeSpan {
        let elapsed = max(now - shownAt, .zero)
        let reached = shown + TimeSpan(seconds: elapsed.seconds * rate)
        return available.map { min(reached, max($0, shown)) } ?? reached
    }

    /// Fixes the position at `now`, so that a change has no effect on the time before. If the last frame is due later
    /// than now, as audio with an output latency is, that time remains.
    private mutating func fixPosition(at now: Instant) {
        if now > shownAt { (shown, shownAt) = (position(at: now), now) }
    }

    /// Returns a snapshot of playback at `now`.
    package func playhead(at now: Instant) -> Playhead {
        let position = position(at: now)
        var timecodeRange: ClosedRange<WallTime>?
        if let range = seekableRange, let first = anchors.wallTime(at: range.lowerBound),
            let last = anchors.wallTime(at: range.upperBound), first <= last
        {
            timecodeRange = first...last
        }
        return Playhead(
            epoch: epoch, position: position.duration, timecode: anchors.wallTime(at: position),
            seekableRange: seekableRange.map { $0.lowerBound.duration...$0.upperBound.duration },
            timecodeRange: timecodeRange, rate: rate, isSeeking: isSeeking)
    }
}

/// The number of a section of playback. Each item and each seek begins another epoch, which invalidates the results of
/// earlier ones.
public struct PlayheadEpoch: Hashable, Comparable, Sendable {
    /// The number, which increases.
    public var number: Int

    /// Creates an epoch.
    public init(number: Int = 0) { self.number = number }

    /// Whether `left` is earlier than `right`.
    public static func < (left: PlayheadEpoch, right: PlayheadEpoch) -> Bool { left.number < right.number }

    /// The next epoch.
    var next: PlayheadEpoch { PlayheadEpoch(number: number + 1) }
}

/// A snapshot of playback at one moment.
public struct Playhead: Hashable, Sendable {
    /// The epoch to which the values belong.
    public var epoch: PlayheadEpoch
    /// The position in the item.
    public var position: Duration
    /// The wall-clock time at which the displayed frame was captured; nil if unknown.
    public var timecode: WallTime?
    /// The range of positions for seeks; nil if the content is not seekable.
    public var seekableRange: ClosedRange<Duration>?
    /// The wall-clock times of the ends of the seekable range; nil if there is no such range or its times are unknown.
    public var timecodeRange: ClosedRange<WallTime>?
    /// The current speed of the position, as a factor; zero while playback is paused, buffers or seeks.
    public var rate: Double
    /// Whether a seek has not displayed its first frame yet.
    public var isSeeking: Bool

    /// Whether the media at the position is no longer available, because the seekable range begins later. Playback can
    /// only resume after a seek to the beginning of the range.
    public var isEvicted: Bool { seekableRange.map { position < $0.lowerBound } ?? false }
}
