import PCastMedia

/// A token bucket for each of many, so that one who asks too often is refused and the others are not.
///
/// A bucket is the instant at which it will be full again (the generic cell rate algorithm of ITU-T I.371), so that a full
/// one need not be kept. When there is no room for another that is not full, those who are new share one.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    /// Buckets kept at most.
    let capacity: Int
    private var full: [Key: Instant] = [:]
    private var sharedFull = Instant(nanoseconds: .min)
    private var nextSweep = Instant(nanoseconds: .min)

    /// What may come at once, in seconds of the rate.
    static var burst: Int64 { 5 }
    private static var sweepInterval: TimeSpan { .seconds(1) }

    init(capacity: Int = 65_536) { self.capacity = capacity }

    /// How many buckets are kept.
    var count: Int { full.count }

    /// Takes a token.
    ///
    /// - Parameter perSecond: how many are added to a bucket in a second; five times as many fill it.
    /// - Returns: nil when there was one, else how long until there is.
    mutating func take(_ key: Key, perSecond: Int64, at now: Instant) -> TimeSpan? {
        guard perSecond > 0 else { return .seconds(60) }
        if full[key] == nil, full.count >= capacity {
            sweep(at: now)
            if full.count >= capacity { return Self.take(&sharedFull, perSecond: perSecond, at: now) }
        }
        return Self.take(&full[key, default: now], perSecond: perSecond, at: now)
    }

    private static func take(_ full: inout Instant, perSecond: Int64, at now: Instant) -> TimeSpan? {
        let interval = TimeSpan.seconds(1) / perSecond
        let base = max(full, now)
        let wait = base - now + interval - interval * (perSecond * burst)
        guard wait <= .zero else { return wait }
        full = base + interval
        return nil
    }

    /// Forgets the full ones, now and then.
    private mutating func sweep(at now: Instant) {
        guard now >= nextSweep else { return }
        nextSweep = now + Self.sweepInterval
        full = full.filter { $0.value > now }
    }
}
