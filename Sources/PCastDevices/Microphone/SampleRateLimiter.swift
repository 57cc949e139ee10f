import PCastCore

/// Limits the number of samples to the elapsed time. Some devices (`file`, `null`) have no clock and deliver as many
/// samples as requested, and so do faulty drivers. It reads no clock; the caller passes the time.
struct SampleRateLimiter {
    /// The factor by which a device may be faster than nominal.
    private static let haste = 1.001

    private let rate: Double
    /// The size of the device's buffer, which may be available at once.
    private let capacity: Double
    private var allowance: Double
    private var last: Instant

    /// Creates a limit. The rate is the sample rate, and the capacity the size of the device's buffer in samples per
    /// channel.
    init(rate: Int, capacity: Int, at now: Instant) {
        self.rate = Double(rate) * Self.haste
        self.capacity = Double(capacity)
        allowance = Double(capacity)
        last = now
    }

    /// Returns the number of samples that may be read now.
    mutating func allowed(at now: Instant) -> Int {
        allowance = min(capacity, allowance + max(0, (now - last).seconds) * rate)
        last = now
        return Int(allowance)
    }

    mutating func take(_ count: Int) { allowance -= Double(count) }

    /// Returns the time until a number of samples may be read; zero if they may be now.
    func wait(for count: Int) -> TimeSpan {
        TimeSpan(seconds: max(0, (min(Double(count), capacity) - allowance) / rate))
    }
}
