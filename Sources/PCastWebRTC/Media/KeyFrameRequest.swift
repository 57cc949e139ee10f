public import PCastMedia

/// Whether a key frame is wanted of a source, and when to ask for it.
///
/// Everyone who wants one is served by the next (KEY1). The request is repeated until the key frame comes, for a lost
/// PLI would leave a black picture (KEY4), and a new one waits its turn after the last, so that key frames keep to a
/// bounded share of the source's bitrate.
public struct KeyFrameRequest: Sendable {
    /// From one request that was granted to the next.
    public static let spacing = TimeSpan.milliseconds(400)

    /// From one repetition to the next, at least; a round trip more is added.
    public static let patience = TimeSpan.milliseconds(150)

    /// A source that grants none is asked so often, and then left alone until somebody wants one anew.
    public static let maximumAttempts = 20

    /// The time after the first request in which a source answers that answers at all; a round trip more is added. It has room
    /// for a request that is lost and repeated.
    public static let answerTime = TimeSpan.milliseconds(300)

    /// A source is asked so often where nobody depends on the answer.
    public static let tentativeAttempts = 2

    /// The least time from the last request to the first one on which nobody depends.
    public static let tentativeSpacing = TimeSpan.seconds(1 as Int64)

    private var attempts = 0
    /// Nobody depends on the current requests.
    private var isTentative = false
    private var limit: Int { isTentative ? Self.tentativeAttempts : Self.maximumAttempts }
    /// When the first of the current requests was sent.
    private var firstSent: Instant?
    private var lastSent: Instant?
    private var lastGranted: Instant?

    /// Somebody waits for a key frame.
    public private(set) var isWanted = false

    /// Whether the source left earlier requests unanswered: the next key frame came too late to be an answer, or none came.
    public private(set) var leavesUnanswered = false

    /// Whether no answer is to be expected: the source left earlier requests unanswered, or the current ones for too long.
    ///
    /// - Parameter roundTrip: to the source, as far as it is known by now.
    public func isUnanswered(roundTrip: TimeSpan, at now: Instant) -> Bool {
        leavesUnanswered || isLate(roundTrip: roundTrip, at: now)
    }

    private func isLate(roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard isWanted, let firstSent else { return false }
        return now - firstSent > Self.answerTime + roundTrip
    }

    /// Requests sent.
    public private(set) var sentCount = 0

    public init() {}

    public mutating func want() {
        if !isWanted || isTentative || attempts >= Self.maximumAttempts { begin(isTentative: false) }
    }

    /// Somebody has been sent an old key frame, and would skip to a newer one: the source may answer by now.
    public mutating func wantTentatively() {
        if !isWanted || attempts >= limit { begin(isTentative: true) }
    }

    private mutating func begin(isTentative: Bool) {
        isWanted = true
        self.isTentative = isTentative
        attempts = 0
        firstSent = nil
    }

    /// A key frame came.
    ///
    /// - Parameter roundTrip: to the source.
    public mutating func granted(roundTrip: TimeSpan, at now: Instant) {
        if isWanted, firstSent != nil { leavesUnanswered = isLate(roundTrip: roundTrip, at: now) }
        isWanted = false
        firstSent = nil
        lastGranted = now
    }

    /// What another receiver of the same source knows of it.
    mutating func note(leavesUnanswered: Bool) { self.leavesUnanswered = leavesUnanswered }

    /// When to ask; nil while nothing is wanted.
    public func deadline(roundTrip: TimeSpan) -> Instant? {
        guard isWanted, attempts < limit else { return nil }
        let wait = attempts > 0 ? Self.patience + roundTrip : isTentative ? Self.tentativeSpacing : .zero
        let next = lastSent.map { $0 + wait }
        let earliest = lastGranted.map { $0 + Self.spacing }
        return max(next ?? Instant(nanoseconds: .min), earliest ?? Instant(nanoseconds: .min))
    }

    /// Whether to ask now; counts as asked when true.
    public mutating func poll(roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard let deadline = deadline(roundTrip: roundTrip), now >= deadline else { return false }
        firstSent = firstSent ?? now
        lastSent = now
        attempts += 1
        sentCount += 1
        if attempts >= Self.maximumAttempts { leavesUnanswered = true }
        return true
    }
}
