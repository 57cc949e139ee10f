import PCastCore

/// Limits the bytes per second that are written to a terminal. It reads no clock; the caller passes the time.
struct ByteBudget {
    let bytesPerSecond: Int
    private var next: Instant?

    init(bytesPerSecond: Int) { self.bytesPerSecond = max(1, bytesPerSecond) }

    func earliest(at now: Instant) -> Instant { next.map { max($0, now) } ?? now }

    mutating func wrote(_ count: Int, at now: Instant) {
        next = earliest(at: now) + TimeSpan(seconds: Double(count) / Double(bytesPerSecond))
    }
}
