import PCastMedia

/// Decides which frames of a replay are presented.
///
/// A new viewer receives the frames since an earlier key frame as fast as the link carries them. The first is presented at
/// once. Of those that follow, only frames behind which no newer one waits are presented: the others are decoded because the
/// newer ones refer to them. The catch-up ends when frames no longer come faster than they were captured.
struct CatchUp {
    /// A frame whose lag is at least this much smaller than that of the frame before came faster than it was captured.
    private static let gain = TimeSpan.milliseconds(10)

    /// A catch-up that takes longer is presented: a frozen frame would be worse than frames in fast motion.
    private static let longest = TimeSpan.milliseconds(500)

    private var first: Instant?
    private var lag = TimeSpan.zero

    /// Whether all frames are presented from now on.
    private(set) var isOver = false

    /// What becomes of a decoded frame.
    enum Verdict: Hashable {
        /// Present it at once: it is the first.
        case begin
        /// Present it when it is due.
        case present
        /// Do not present it.
        case skip
    }

    /// Decides about a decoded frame.
    ///
    /// - Parameter hasNewer: a newer frame waits to be decoded.
    mutating func decoded(timestamp: MediaTime, hasNewer: Bool, at now: Instant) -> Verdict {
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
