import PCastMedia

/// When a terminal may be written to again, so that it gets no more bytes a second than it is allowed: whoever has
/// written much waits long. It is told the time.
struct ByteBudget {
    let bytesPerSecond: Int
    private var next: Instant?

    init(bytesPerSecond: Int) { self.bytesPerSecond = max(1, bytesPerSecond) }

    func earliest(at now: Instant) -> Instant { next.map { max($0, now) } ?? now }

    mutating func wrote(_ count: Int, at now: Instant) {
        next = earliest(at: now) + TimeSpan(seconds: Double(count) / Double(bytesPerSecond))
    }
}
