import PCastCore

/// Determines whether something that is expected regularly still arrives.
///
/// Something rare is awaited for longer: audio of a silent room arrives every 400 ms (RFC 7587, section 3.1.3), and
/// video of an unchanged screen once a second.
struct InactivityDetector: Sendable {
    /// The time without arrivals after which there is silence.
    struct Timeouts: Sendable {
        /// The usual time.
        var typical: TimeSpan
        /// The time for arrivals that are rarer than ``rareRate``.
        var rareTimeout: TimeSpan
        /// The number of arrivals per second below which they are rare.
        var rareRate: Double
    }

    /// The time without arrivals after which there is silence.
    let timeout: Timeouts
    private var lastCount = 0
    /// The time of the last arrival; nil before the first.
    private var newest: Instant?
    /// The arrivals per second, smoothed; nil before the second arrival.
    private var rate: Double?

    /// Creates a watch without arrivals.
    init(_ timeout: Timeouts) { self.timeout = timeout }

    /// Whether anything has arrived.
    var hasBegun: Bool { newest != nil }

    /// Updates the watch.
    ///
    /// - Parameters:
    ///   - count: The number of arrivals since the beginning.
    ///   - now: The current time.
    mutating func observe(count: Int, at now: Instant) {
        guard count != lastCount else { return }
        defer {
            lastCount = count
            newest = now
        }
        guard let newest, now > newest, count > lastCount else { return }
        let current = Double(count - lastCount) / (now - newest).seconds
        rate = rate.map { $0 + (current - $0) / 4 } ?? current
    }

    /// Restarts waiting, because nothing is expected at present.
    mutating func restart(at now: Instant) {
        if newest != nil { newest = now }
    }

    /// Returns whether arrivals have begun and stopped.
    func isSilent(at now: Instant) -> Bool {
        guard let newest else { return false }
        let isRare = rate.map { $0 < timeout.rareRate } ?? true
        return now - newest >= (isRare ? timeout.rareTimeout : timeout.typical)
    }
}
