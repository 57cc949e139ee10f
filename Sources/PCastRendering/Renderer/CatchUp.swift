import PCastCore

/// Decides which frames of a replay are presented.
///
/// A new viewer receives the frames since an earlier key frame as fast as the link carries them. The first one is
/// presented at once. Of the following ones, only frames without a queued newer one are presented. The others are
/// decoded only because newer frames refer to them. The catch-up ends when frames no longer arrive faster than they
/// were captured.
struct CatchUp {
    /// The decrease of a frame's lag that shows that frames arrive faster than they were captured.
    private static let gain = TimeSpan.milliseconds(10)

    /// The longest catch-up. After that, all frames are presented: fast motion is better than a frozen frame.
    private static let longest = TimeSpan.milliseconds(500)

    private var first: Instant?
    private var lag = TimeSpan.zero

    /// Whether all frames are presented from now on.
    private(set) var isOver = false

    /// The decision about a decoded frame.
    enum Decision: Hashable {
        /// It is the first frame; present it at once.
        case begin
        /// Present it at its presentation time.
        case present
        /// Do not present it.
        case skip
    }

    /// Decides about a decoded frame. `hasNewer` tells whether a newer frame is queued for decoding.
    mutating func decoded(timestamp: MediaTime, hasNewer: Bool, at now: Instant) -> Decision {
        guard !isOver else { return .present }
        let before = lag
        lag = TimeSpan.nanoseconds(now.nanoseconds) - timestamp.span
        guard let first else {
            first = now
            return .begin
        }
        isOver = now - first >= Self.longest || (!hasNewer && lag > before - Self.gain)
        return hasNewer && !isOver ? .skip : .present
    }
}
