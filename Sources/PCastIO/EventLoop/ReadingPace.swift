import PCastMedia

/// When a loop reads what may wait: at once where little comes, and not more often than an interval allows; by the clock
/// alone where much does.
///
/// After what network drivers do with interrupts (NAPI): who finds much each time it looks need not be told that there is
/// something.
struct ReadingPace {
    /// So many at a time are much.
    static let many = 8

    let interval: TimeSpan

    /// When it is to be read; nil while the kernel is to tell that something came.
    private(set) var due: Instant?
    private var lastRead: Instant?

    init(interval: TimeSpan) { self.interval = interval }

    /// The kernel tells that something is there, which it does once; when it is to be read stands in `due`.
    mutating func arrived(at now: Instant) {
        guard due == nil else { return }
        guard let lastRead, now - lastRead < interval else { return due = now }
        due = tick(after: lastRead)
    }

    /// Whether it is to be read now.
    func isDue(at now: Instant) -> Bool { due.map { $0 <= now } ?? false }

    /// It was read.
    ///
    /// - Parameter count: how many there were.
    /// - Returns: whether the kernel is to tell again.
    mutating func read(_ count: Int, at now: Instant) -> Bool {
        lastRead = now
        due = count >= Self.many ? tick(after: now) : nil
        return due == nil
    }

    /// The next whole multiple of the interval.
    private func tick(after instant: Instant) -> Instant {
        Instant(nanoseconds: (instant.nanoseconds / interval.nanoseconds + 1) * interval.nanoseconds)
    }
}
