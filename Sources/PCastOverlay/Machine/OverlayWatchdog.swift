import PCastMedia

/// Turns silence into a warning, and more of it into the end. It is told since when nothing was heard, and the time.
struct OverlayWatchdog {
    enum Bark: Equatable { case warning, fatal }

    /// After so long it warns.
    let warning: TimeSpan
    /// After so long it is over; nil for never.
    let fatal: TimeSpan?

    /// Since when nothing was heard; nil while nothing is expected.
    private(set) var silentSince: Instant?
    private var barked: Bark?

    init(warning: TimeSpan, fatal: TimeSpan?) { (self.warning, self.fatal) = (warning, fatal) }

    /// Something was heard then, or begins to be expected; nil when nothing is any more.
    mutating func set(silentSince instant: Instant?) {
        guard instant != silentSince else { return }
        silentSince = instant
        barked = nil
    }

    var deadline: Instant? {
        guard let silentSince else { return nil }
        switch barked {
        case nil: return Instant.earlier(silentSince + warning, fatal.map { silentSince + $0 })
        case .warning?: return fatal.map { silentSince + $0 }
        case .fatal?: return nil
        }
    }

    /// What is due; nil for nothing.
    mutating func advance(to now: Instant) -> Bark? {
        guard let silentSince, let deadline, now >= deadline else { return nil }
        barked = fatal.map { now >= silentSince + $0 } == true ? .fatal : .warning
        return barked
    }
}
