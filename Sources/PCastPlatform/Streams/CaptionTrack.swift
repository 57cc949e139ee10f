import PCastCore

/// The newest captions of one stream, by the platform's capture clock, and the publisher's rate limit.
struct CaptionTrack: Sendable {
    /// The rate of cues, and the number of cues that may be sent at once.
    static let perSecond: Int64 = 10
    static let burst: Int64 = 50
    /// The time for which cues are kept after their end, for viewers that join and whose frames are that old.
    static let retention = TimeSpan.seconds(15)

    private var gate = CaptionGate()
    /// The time at which the bucket of the rate limit is full (generic cell rate algorithm, ITU-T I.371).
    private var full = Instant(nanoseconds: .min)

    /// Counts cues that a publisher sends.
    ///
    /// - Throws: ``APIError`` with the kind `rateLimited`, in which case none of them is counted.
    mutating func count(_ cues: Int, at now: Instant) throws(APIError) {
        let interval = TimeSpan.seconds(1) / Self.perSecond
        let base = max(full, now)
        let wait = base - now + interval * (Int64(cues) - Self.burst)
        guard wait <= .zero else {
            throw APIError(
                .rateLimited, "A stream has \(Self.perSecond) captions per second: wait \(wait).", retryAfter: wait)
        }
        full = base + interval * Int64(cues)
    }

    /// Adds cues. If there are more than ``CaptionGate/capacity``, the earliest are removed.
    mutating func add(_ cues: [CaptionCue], at now: WallTime) {
        gate.removeAll(endedBefore: now - Self.retention)
        for cue in cues { gate.add(cue) }
    }

    /// Returns the cues that are shown now or later, or ended recently.
    func current(at now: WallTime) -> [CaptionCue] { gate.cues.filter { $0.end >= now - Self.retention } }
}
