import PCastMedia

/// How often logins fail: an address has ten attempts at once, and then one each six seconds, so that secrets cannot be
/// tried out.
struct LoginAttempts: Sendable {
    private struct Bucket: Sendable {
        var used: Double
        var at: Instant

        mutating func leak(to now: Instant) {
            used = max(used - (now - at).seconds / LoginAttempts.interval.seconds, 0)
            at = now
        }
    }

    static let burst = 10.0
    static let interval = TimeSpan.seconds(6 as Int64)

    /// Addresses that are remembered; when more fail at one time, those that are not share one bucket.
    static let capacity = 4_096

    private var buckets: [IPAddress?: Bucket] = [:]
    private var others = Bucket(used: 0, at: Instant(nanoseconds: 0))

    /// How long an address has to wait before its next attempt; zero when it may try now.
    mutating func wait(of address: IPAddress?, at now: Instant) -> TimeSpan {
        var bucket = buckets[Self.key(address)] ?? (buckets.count < Self.capacity ? nil : others)
        bucket?.leak(to: now)
        guard let bucket, bucket.used > Self.burst - 1 else { return .zero }
        return TimeSpan(seconds: (bucket.used - (Self.burst - 1)) * Self.interval.seconds)
    }

    mutating func noteFailure(of address: IPAddress?, at now: Instant) {
        let key = Self.key(address)
        if buckets[key] == nil, buckets.count >= Self.capacity { forget(at: now) }
        guard buckets[key] != nil || buckets.count < Self.capacity else {
            others.leak(to: now)
            others.used += 1
            return
        }
        var bucket = buckets[key] ?? Bucket(used: 0, at: now)
        bucket.leak(to: now)
        bucket.used += 1
        buckets[key] = bucket
    }

    /// Forgets those that have all their attempts again.
    private mutating func forget(at now: Instant) {
        buckets = buckets.filter { _, bucket in
            var bucket = bucket
            bucket.leak(to: now)
            return bucket.used > 0
        }
    }

    /// Who has one address of IPv6 has all of its network (RFC 6177).
    private static func key(_ address: IPAddress?) -> IPAddress? {
        guard let address, address.family == .v6 else { return address }
        return IPAddress(v6: address.v6.high, 0)
    }
}
