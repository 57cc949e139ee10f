import PCastCore

/// The failed logins by address. An address has ten attempts, and then one every six seconds, so that secrets cannot be
/// guessed.
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

    /// The maximum number of stored addresses. Further ones share a bucket.
    static let capacity = 4_096

    private var buckets: [IPAddress?: Bucket] = [:]
    private var others = Bucket(used: 0, at: Instant(nanoseconds: 0))

    /// Returns the time until an address may try again; zero if it may try now.
    mutating func wait(of address: IPAddress?, at now: Instant) -> TimeSpan {
        var bucket = buckets[Self.key(address)] ?? (buckets.count < Self.capacity ? nil : others)
        bucket?.leak(to: now)
        guard let bucket, bucket.used > Self.burst - 1 else { return .zero }
        return TimeSpan(seconds: (bucket.used - (Self.burst - 1)) * Self.interval.seconds)
    }

    mutating func noteFailure(of address: IPAddress?, at now: Instant) {
        let key = Self.key(address)
        if buckets[key] == nil, buckets.count >= Self.capacity { discard(at: now) }
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

    /// Removes the addresses whose attempts are all available again.
    private mutating func discard(at now: Instant) {
        buckets = buckets.filter { _, bucket in
            var bucket = bucket
            bucket.leak(to: now)
            return bucket.used > 0
        }
    }

    /// Returns the unit that is counted: an IPv4 address, or an IPv6 /64 network, because one customer has all of its
    /// addresses (RFC 6177).
    private static func key(_ address: IPAddress?) -> IPAddress? {
        guard let address, address.family == .v6 else { return address }
        return IPAddress(v6: address.v6.high, 0)
    }
}
