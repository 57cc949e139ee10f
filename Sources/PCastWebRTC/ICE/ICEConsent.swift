package import PCastCore

/// The time since the peer was last authenticated (consent freshness, RFC 7675).
///
/// The time counts only after the first successful check, so that a peer that is still connecting does not expire.
package struct ICEConsent: Sendable {
    /// The time after which consent expires (RFC 7675, section 5.1).
    package static let lifetime = TimeSpan.seconds(30 as Int64)

    /// The time after which the peer is considered away, though consent has not expired.
    package static let timeout = TimeSpan.seconds(5 as Int64)

    /// The time at which the peer was last authenticated; nil before the first successful check.
    package private(set) var lastAuthenticated: Instant?

    /// Creates a value without consent.
    package init() {}

    /// Records a successful check of either side, which starts or extends consent.
    mutating func start(at now: Instant) { lastAuthenticated = max(lastAuthenticated ?? now, now) }

    /// Records another authenticated packet of the peer, which extends consent but does not start it.
    mutating func extend(at now: Instant) {
        if lastAuthenticated != nil { start(at: now) }
    }

    /// Returns whether the peer has been silent for 5 s.
    package func isAway(at now: Instant) -> Bool { lastAuthenticated.map { now >= $0 + Self.timeout } ?? false }

    /// Returns whether consent has expired.
    package func hasExpired(at now: Instant) -> Bool { lastAuthenticated.map { now >= $0 + Self.lifetime } ?? false }

    /// Returns the time at which the result of ``isAway(at:)`` or ``hasExpired(at:)`` changes; nil if it does not.
    package func deadline(after now: Instant) -> Instant? {
        guard let lastAuthenticated, !hasExpired(at: now) else { return nil }
        return lastAuthenticated + (isAway(at: now) ? Self.lifetime : Self.timeout)
    }
}
