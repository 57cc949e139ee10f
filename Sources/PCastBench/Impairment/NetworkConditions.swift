import PCastMedia

/// How a network treats what passes, in each direction.
struct NetworkConditions: Sendable {
    /// One way.
    var delay = TimeSpan.zero
    /// Up to this much is added to the delay, evenly spread; datagrams may overtake each other by it.
    var jitter = TimeSpan.zero
    /// The share of datagrams that vanish, 0 to 1. Connections lose nothing: TCP would repair it.
    var loss = 0.0
    /// The same treatment from the same seed and traffic.
    var seed: UInt64 = 1
    /// Datagrams of clients at this address pass as if there were no such network.
    var exempt: IPAddress?

    func delay(using generator: inout SeededGenerator) -> TimeSpan {
        guard jitter > .zero else { return delay }
        return delay + .nanoseconds(Int64.random(in: 0...jitter.nanoseconds, using: &generator))
    }

    func loses(using generator: inout SeededGenerator) -> Bool {
        loss > 0 && Double.random(in: 0..<1, using: &generator) < loss
    }
}
