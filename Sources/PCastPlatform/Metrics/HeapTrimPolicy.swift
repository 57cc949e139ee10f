import PCastCore

/// The policy that decides when unused heap memory is returned to the system. This is done after most of many clients
/// have left. It is also done after many clients have joined, because their handshakes needed temporary memory.
struct HeapTrimPolicy {
    /// The minimum number of clients that must leave.
    static let minimumDepartures = 50
    /// The time after clients have left until their last memory is free, such as that of timers.
    static let idleDelay = TimeSpan.seconds(30)
    /// The number of clients that must join, and the time without further ones after that.
    static let minimumJoins = 200
    static let joinIdleDelay = TimeSpan.seconds(5)

    private var highest = 0
    private var lastDeparture: Instant?
    /// The minimum number of clients since memory was last returned, and the time of the last new maximum.
    private var lowest = 0
    private var lastIncrease: Instant?

    /// Returns whether memory must be returned, given the current number of clients.
    ///
    /// It returns true if the number fell to half of the maximum since the last time, and again after `idleDelay`. It
    /// also returns true if `minimumJoins` clients have joined since the last time and no more join.
    mutating func isTime(with count: Int, at now: Instant) -> Bool {
        if count > highest { lastIncrease = now }
        highest = max(highest, count)
        lowest = min(lowest, count)
        if highest - count >= Self.minimumDepartures, count <= highest / 2 {
            highest = count
            lowest = count
            lastDeparture = now
            return true
        }
        if let departure = lastDeparture, now - departure >= Self.idleDelay {
            lastDeparture = nil
            lowest = count
            return true
        }
        guard count - lowest >= Self.minimumJoins, let increase = lastIncrease, now - increase >= Self.joinIdleDelay
        else { return false }
        lowest = count
        return true
    }
}
