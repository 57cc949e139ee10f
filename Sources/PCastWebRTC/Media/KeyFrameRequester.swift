package import PCastCore

/// Schedules key-frame requests to a source.
///
/// One key frame serves all that need one. The request is repeated until a key frame arrives, because a lost PLI would
/// leave a viewer without video. Requests are limited to one every 400 ms, so that key frames use a bounded share of
/// the bit rate.
package struct KeyFrameRequester: Sendable {
    /// The minimum time from a received key frame to the next request.
    package static let spacing = TimeSpan.milliseconds(400)

    /// The minimum time before a request is repeated, to which the round-trip time is added.
    package static let timeout = TimeSpan.milliseconds(150)

    /// The maximum number of repetitions, after which a new need for a key frame starts again.
    package static let maximumAttempts = 20

    /// The time after the first request within which a responsive source sends a key frame, to which the round-trip
    /// time is added. It allows for a request that is lost and repeated.
    package static let answerTime = TimeSpan.milliseconds(300)

    /// The maximum number of requests if no viewer depends on the key frame.
    package static let tentativeAttempts = 2

    /// The minimum time from the last request to a request on which no viewer depends.
    package static let tentativeSpacing = TimeSpan.seconds(1 as Int64)

    /// The number of requests for the current need.
    private var attempts = 0
    /// Nobody depends on the current requests.
    private var isTentative = false
    private var limit: Int { isTentative ? Self.tentativeAttempts : Self.maximumAttempts }
    /// When the first of the current requests was sent.
    private var firstSent: Instant?
    private var lastSent: Instant?
    /// The time at which the last key frame arrived after a request.
    private var lastReceived: Instant?

    /// Whether a key frame is needed.
    package private(set) var isWanted = false

    /// Whether the source left earlier requests unanswered: the next key frame was too late to be an answer, or none
    /// came.
    package private(set) var ignoresRequests = false

    /// Returns whether no answer is to be expected, because the source left earlier requests unanswered, or the current
    /// ones for too long.
    ///
    /// - Parameters:
    ///   - roundTrip: The round-trip time to the source as far as it is known.
    ///   - now: The current time.
    /// - Returns: Whether no answer is to be expected.
    package func isUnanswered(roundTrip: TimeSpan, at now: Instant) -> Bool {
        ignoresRequests || isLate(roundTrip: roundTrip, at: now)
    }

    private func isLate(roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard isWanted, let firstSent else { return false }
        return now - firstSent > Self.answerTime + roundTrip
    }

    /// The number of requests sent.
    package private(set) var sentCount = 0

    /// Creates a scheduler without a need.
    package init() {}

    /// Records that a key frame is needed.
    package mutating func request() {
        if !isWanted || isTentative || attempts >= Self.maximumAttempts { begin(isTentative: false) }
    }

    /// Somebody has been sent an old key frame, and would skip to a newer one: the source may answer by now.
    package mutating func requestTentatively() {
        if !isWanted || attempts >= limit { begin(isTentative: true) }
    }

    private mutating func begin(isTentative: Bool) {
        isWanted = true
        self.isTentative = isTentative
        attempts = 0
        firstSent = nil
    }

    /// Records that a key frame has arrived.
    ///
    /// - Parameters:
    ///   - roundTrip: The round-trip time to the source.
    ///   - now: The current time.
    package mutating func received(roundTrip: TimeSpan, at now: Instant) {
        if isWanted, firstSent != nil { ignoresRequests = isLate(roundTrip: roundTrip, at: now) }
        isWanted = false
        firstSent = nil
        lastReceived = now
    }

    /// Takes over whether requests are left unanswered from another receiver of the same source.
    mutating func note(ignoresRequests: Bool) { self.ignoresRequests = ignoresRequests }

    /// Returns the time of the next request; nil if none is scheduled.
    package func deadline(roundTrip: TimeSpan) -> Instant? {
        guard isWanted, attempts < limit else { return nil }
        let wait = attempts > 0 ? Self.timeout + roundTrip : isTentative ? Self.tentativeSpacing : .zero
        let next = lastSent.map { $0 + wait }
        let earliest = lastReceived.map { $0 + Self.spacing }
        return max(next ?? Instant(nanoseconds: .min), earliest ?? Instant(nanoseconds: .min))
    }

    /// Returns whether a request must be sent now, and counts it.
    package mutating func poll(roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard let deadline = deadline(roundTrip: roundTrip), now >= deadline else { return false }
        firstSent = firstSent ?? now
        lastSent = now
        attempts += 1
        sentCount += 1
        if attempts >= Self.maximumAttempts { ignoresRequests = true }
        return true
    }
}
