import PCastCore

/// The budget of one viewer for key frames, because each one is sent to all viewers of the layer.
///
/// It allows a few in a row, which a viewer needs after losses, and then one in each `interval`. The viewer repeats a
/// request that is refused.
struct KeyFrameBudget: Hashable, Sendable {
    static let interval = TimeSpan.seconds(2 as Int64)
    static let burst: Int64 = 4

    /// The time at which the budget is complete again (generic cell rate algorithm, ITU-T I.371).
    private var whole = Instant(nanoseconds: .min)

    /// Whether a request may be forwarded now. If true, it counts as forwarded.
    mutating func take(at now: Instant) -> Bool {
        let base = max(whole, now)
        guard base - now <= Self.interval * (Self.burst - 1) else { return false }
        whole = base + Self.interval
        return true
    }
}
