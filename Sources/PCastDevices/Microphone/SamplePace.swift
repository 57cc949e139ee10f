import PCastMedia

/// Lets no more samples through than time has passed for: some PCMs (of files, of nothing) have no clock and hand over
/// whatever is asked of them, as does a driver that lies. It is told the time.
struct SamplePace {
    /// More than any crystal is off by.
    private static let haste = 1.001

    private let rate: Double
    /// What a device has at once when it was not read for a while.
    private let capacity: Double
    private var allowance: Double
    private var last: Instant

    /// - Parameters:
    ///   - rate: in samples a second.
    ///   - capacity: samples that the device holds at most.
    init(rate: Int, capacity: Int, at now: Instant) {
        self.rate = Double(rate) * Self.haste
        self.capacity = Double(capacity)
        allowance = Double(capacity)
        last = now
    }

    /// Samples that may be taken now.
    mutating func allowed(at now: Instant) -> Int {
        allowance = min(capacity, allowance + max(0, (now - last).seconds) * rate)
        last = now
        return Int(allowance)
    }

    mutating func take(_ count: Int) { allowance -= Double(count) }

    /// How long it takes until so many may be taken; zero when they may be now.
    func wait(for count: Int) -> TimeSpan {
        TimeSpan(seconds: max(0, (min(Double(count), capacity) - allowance) / rate))
    }
}
