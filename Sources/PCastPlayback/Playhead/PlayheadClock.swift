public import PCastCore

/// The one owner of where playback is. Told what is played, asked, shown, and the time; everyone else reads ``playhead(at:)``.
///
/// The position goes on with time from what was shown last, at the rate that is played, and not beyond what is there to be
/// shown. Within an epoch it never goes back, while it is played forwards.
public struct PlayheadClock: Sendable {
    public private(set) var epoch = PlayheadEpoch()
    /// Of this item.
    public private(set) var anchors = TimecodeAnchors()
    public private(set) var seekableRange: ClosedRange<TimeSpan>?
    /// The rate that was asked for, which holds over pauses.
    public private(set) var playbackRate = 1.0
    /// Someone asked to play.
    public private(set) var isPlaying = false
    /// There is nothing to show.
    public private(set) var isBuffering = true
    /// A seek is on its way to its picture.
    public private(set) var isSeeking = false

    /// What was at `shownAt`.
    private var shown = TimeSpan.zero
    private var shownAt: Instant
    /// The end of what is there to be shown; nil where nobody says.
    private var available: TimeSpan?

    public static let rates = 0.25...4.0

    public init(at now: Instant) { shownAt = now }

    /// Begins another item, of which nothing is known yet.
    public mutating func begin(at position: TimeSpan = .zero, now: Instant) -> PlayheadEpoch {
        epoch = epoch.next
        anchors = TimecodeAnchors()
        (seekableRange, available) = (nil, nil)
        (isBuffering, isSeeking) = (true, false)
        (shown, shownAt) = (position, now)
        return epoch
    }

    public mutating func play(at now: Instant) {
        settle(at: now)
        isPlaying = true
    }

    public mutating func pause(at now: Instant) {
        settle(at: now)
        isPlaying = false
    }

    /// Rates that are none are taken for 1, others brought within ``rates``.
    public mutating func setRate(_ rate: Double, at now: Instant) {
        settle(at: now)
        playbackRate = rate.isFinite && rate > 0 ? min(max(rate, Self.rates.lowerBound), Self.rates.upperBound) : 1
    }

    /// Whether there is nothing to show, as who decodes says for an epoch. An earlier epoch's word is not heard.
    ///
    /// - Returns: Whether it was heard.
    @discardableResult
    public mutating func setBuffering(_ buffering: Bool, of epoch: PlayheadEpoch, at now: Instant) -> Bool {
        guard epoch == self.epoch else { return false }
        settle(at: now)
        isBuffering = buffering
        return true
    }

    /// Goes elsewhere: within the seekable range, if there is one. The position is the new one at once, and stands still until
    /// its picture has been shown.
    ///
    /// - Returns: The epoch in which the picture has to be shown. A seek before it that has not landed never will.
    public mutating func seek(to position: TimeSpan, at now: Instant) -> PlayheadEpoch {
        epoch = epoch.next
        let range = seekableRange ?? position...position
        (shown, shownAt) = (min(max(position, range.lowerBound), range.upperBound), now)
        available = nil
        isSeeking = true
        return epoch
    }

    /// Goes to the picture of a moment (`bridgeTime` of an overlay).
    ///
    /// - Returns: nil where nothing tells where that is; nothing has changed then.
    public mutating func seek(to wallTime: WallTime, at now: Instant) -> PlayheadEpoch? {
        guard let range = seekableRange, let position = anchors.position(of: wallTime, in: range) else { return nil }
        return seek(to: position, at: now)
    }

    /// A picture or sound was shown; the first of an epoch ends its seek, wherever it lies.
    ///
    /// - Parameter available: The end of what is there to be shown behind it.
    /// - Returns: Whether it is of this epoch. What is not has no effect.
    @discardableResult
    public mutating func show(
        _ position: TimeSpan, of epoch: PlayheadEpoch, available: TimeSpan? = nil, at now: Instant
    ) -> Bool {
        guard epoch == self.epoch else { return false }
        let isLanding = isSeeking
        let reached = self.position(at: now)
        isSeeking = false
        isBuffering = false
        self.available = available.map { max($0, position) }
        // A picture that lags behind by a little holds the position; it does not turn it back.
        (shown, shownAt) = (isLanding ? position : max(position, reached), now)
        return true
    }

    /// More has come that can be shown: the position goes on to this end, as if it had never been held by the one before.
    public mutating func setAvailable(_ end: TimeSpan?, of epoch: PlayheadEpoch, at now: Instant) {
        if epoch == self.epoch { available = end.map { max($0, position(at: now)) } }
    }

    /// When a position is come to, as things are; nil while nothing moves. The position is not held here by what is there to
    /// be shown.
    public func instant(of position: TimeSpan) -> Instant? {
        rate > 0 ? shownAt + TimeSpan(seconds: (position - shown).seconds / rate) : nil
    }

    /// What a reload or the demuxer found out. A range that moves on moves nothing: what is on the screen stays there, and
    /// ``Playhead/isEvicted`` says that it cannot be gone on with.
    public mutating func setSeekableRange(_ range: ClosedRange<TimeSpan>?, of epoch: PlayheadEpoch) {
        if epoch == self.epoch { seekableRange = range }
    }

    /// Hands on what tells wall time, if it is of this epoch.
    public mutating func anchor(_ epoch: PlayheadEpoch, _ change: (inout TimecodeAnchors) -> Void) {
        if epoch == self.epoch { change(&anchors) }
    }

    /// The rate at which the position moves now.
    private var rate: Double { isPlaying && !isBuffering && !isSeeking ? playbackRate : 0 }

    /// Pictures and sound move on.
    var isMoving: Bool { rate > 0 }

    func position(at now: Instant) -> TimeSpan {
        let elapsed = max(now - shownAt, .zero)
        let reached = shown + TimeSpan(seconds: elapsed.seconds * rate)
        return available.map { min(reached, max($0, shown)) } ?? reached
    }

    /// Goes on from here: what changes now changes nothing of before. What begins later than now, as sound does that takes
    /// time to be heard, still begins then.
    private mutating func settle(at now: Instant) {
        if now > shownAt { (shown, shownAt) = (position(at: now), now) }
    }

    /// What is played at this moment.
    public func playhead(at now: Instant) -> Playhead {
        let position = position(at: now)
        var timecodeRange: ClosedRange<WallTime>?
        if let range = seekableRange, let first = anchors.wallTime(at: range.lowerBound),
            let last = anchors.wallTime(at: range.upperBound), first <= last
        {
            timecodeRange = first...last
        }
        return Playhead(
            epoch: epoch, position: position, timecode: anchors.wallTime(at: position), seekableRange: seekableRange,
            timecodeRange: timecodeRange, rate: rate, isSeeking: isSeeking)
    }
}
