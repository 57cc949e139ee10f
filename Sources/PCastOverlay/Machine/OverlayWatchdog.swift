import PCastCore

/// Measures the time without a sign of life and reports when it exceeds the timeouts.
struct OverlayWatchdog {
    /// A timeout that has passed.
    enum Expiry: Equatable { case warning, fatal }

    /// The time without a sign of life after which a warning is due.
    let warning: TimeSpan
    /// The time without a sign of life after which a fatal error is due; nil for never.
    let fatal: TimeSpan?

    /// The time since which there has been no sign of life; nil if none is expected.
    private(set) var silentSince: Instant?
    /// The last timeout that was reported since the last sign of life.
    private var lastReported: Expiry?

    init(warning: TimeSpan, fatal: TimeSpan?) { (self.warning, self.fatal) = (warning, fatal) }

    /// Sets the time of the last sign of life, or from which one is expected; nil if none is expected.
    mutating func set(silentSince instant: Instant?) {
        guard instant != silentSince else { return }
        silentSince = instant
        lastReported = nil
    }

    /// The time of the next timeout; nil if there is none.
    var deadline: Instant? {
        guard let silentSince else { return nil }
        switch lastReported {
        case nil: return Instant.earlier(silentSince + warning, fatal.map { silentSince + $0 })
        case .warning?: return fatal.map { silentSince + $0 }
        case .fatal?: return nil
        }
    }

    /// Returns the timeout that has passed; nil if there is none.
    mutating func advance(to now: Instant) -> Expiry? {
        guard let silentSince, let deadline, now >= deadline else { return nil }
        lastReported = fatal.map { now >= silentSince + $0 } == true ? .fatal : .warning
        return lastReported
    }
}
