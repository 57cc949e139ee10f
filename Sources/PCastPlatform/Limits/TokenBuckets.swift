import PCastCore

/// Token buckets by key, so that only those clients are rejected that send too many requests.
///
/// A bucket is represented by the instant at which it will be full (generic cell rate algorithm, ITU-T I.371), so that
/// full buckets need not be stored. If no more buckets can be stored, new keys share one.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    /// The maximum number of stored buckets.
    let capacity: Int
    private var full: [Key: Instant] = [:]
    private var sharedFull = Instant(nanoseconds: .min)
    private var nextSweep = Instant(nanoseconds: .min)

    /// The size of a bucket in seconds of the rate.
    static var burst: Int64 { 5 }
    private static var sweepInterval: TimeSpan { .seconds(1) }

    init(capacity: Int = 65_536) { self.capacity = capacity }

    /// The number of stored buckets.
    var count: Int { full.count }

    /// Removes a token from the bucket of a key. `perSecond` is the number of tokens that are added per second, and
    /// five times as many fill the bucket. Returns nil if there was a token, otherwise the time until there is one.
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

    /// Removes full buckets, at most once per second.
    private mutating func sweep(at now: Instant) {
        guard now >= nextSweep else { return }
        nextSweep = now + Self.sweepInterval
        full = full.filter { $0.value > now }
    }
}
