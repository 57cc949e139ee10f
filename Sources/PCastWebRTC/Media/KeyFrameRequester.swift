public import PCastCore

/// Schedules key-frame requests to a source.
///
/// One key frame serves all that need one. The request is repeated until a key frame arrives, because a lost PLI would
/// leave a viewer without video. Requests are limited to one every 400 ms, so that key frames use a bounded share of
/// the bit rate.
public struct KeyFrameRequester: Sendable {
    /// The minimum time from a received key frame to the next request.
    public static let spacing = TimeSpan.milliseconds(400)

    /// The minimum time before a request is repeated, to which the round-trip time is added.
    public static let timeout = TimeSpan.milliseconds(150)

    /// The maximum number of repetitions, after which a new need for a key frame starts again.
    public static let maximumAttempts = 20

    /// The number of requests for the current need.
    private var attempts = 0
    private var lastSent: Instant?
    /// The time at which the last key frame arrived after a request.
    private var lastGranted: Instant?

    /// Whether a key frame is needed.
    public private(set) var isWanted = false

    /// Whether a request was repeated and no key frame has arrived yet.
    public var isUnanswered: Bool { isWanted && attempts > 1 }

    /// The number of requests sent.
    public private(set) var sentCount = 0

    /// Creates a scheduler without a need.
    public init() {}

    /// Records that a key frame is needed.
    public mutating func want() {
        if !isWanted || attempts >= Self.maximumAttempts { attempts = 0 }
        isWanted = true
    }

    /// Records that a key frame has arrived.
    public mutating func received(at now: Instant) {
        isWanted = false
        lastGranted = now
    }

    /// Returns the time of the next request; nil if none is scheduled.
    public func deadline(roundTrip: TimeSpan) -> Instant? {
        guard isWanted, attempts < Self.maximumAttempts else { return nil }
        let next = lastSent.map { sent in attempts == 0 ? sent : sent + Self.timeout + roundTrip }
        let earliest = lastGranted.map { $0 + Self.spacing }
        return max(next ?? Instant(nanoseconds: .min), earliest ?? Instant(nanoseconds: .min))
    }

    /// Returns whether a request must be sent now, and counts it.
    public mutating func poll(roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard let deadline = deadline(roundTrip: roundTrip), now >= deadline else { return false }
        lastSent = now
        attempts += 1
        sentCount += 1
        return true
    }
}
