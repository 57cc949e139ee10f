import PCastCore

/// How often one viewer may have a key frame made that all others of the layer get too (KEY5): a few in a row, as who has
/// lost its picture needs them, and then one each `interval`. What is refused a viewer asks for again.
struct KeyFrameBudget: Hashable, Sendable {
    static let interval = TimeSpan.seconds(2 as Int64)
    static let burst: Int64 = 4

    /// When the budget will be whole again (the generic cell rate algorithm of ITU-T I.371).
    private var whole = Instant(nanoseconds: .min)

    /// Whether a request may be passed on now; counts as passed on when true.
    mutating func take(at now: Instant) -> Bool {
        let base = max(whole, now)
        guard base - now <= Self.interval * (Self.burst - 1) else { return false }
        whole = base + Self.interval
        return true
    }
}
