package import PCastCore

/// The timing of a controlling agent.
enum ICETimers {
    /// The time between checks of different pairs. The default of RFC 8445, section 14.2, is 50 ms, and the minimum is
    /// 5 ms.
    static let pacing = TimeSpan.milliseconds(20)

    /// The time before the first retransmission of a check, which doubles for each further one up to
    /// ``longestTimeout``.
    ///
    /// RFC 8445, section 14.3, has a minimum of 500 ms for the Internet. The shorter time reduces the delay that a lost
    /// packet causes when joining.
    static let firstTimeout = TimeSpan.milliseconds(100)

    /// The maximum time between transmissions of a check over UDP, unless the round-trip time is longer.
    static let longestTimeout = TimeSpan.milliseconds(800)

    /// The number of transmissions of a check before the pair fails, which take 12.7 s.
    static let maximumTries = 18

    /// The number of transmissions of a check on the selected pair before another check begins.
    static let maximumConsentTries = 4

    /// The number of unanswered transmissions on the selected pair after which other pairs are checked.
    static let unresponsiveTries = 3

    /// The time between checks over TCP, which is reliable (RFC 6544, section 7.1).
    static let streamTimeout = TimeSpan.seconds(2 as Int64)

    /// The mean time between checks of the selected pair, which varies by 20 % (RFC 7675, section 5.1). It is the value
    /// of Chrome.
    static let keepalive = TimeSpan.milliseconds(2500)

    /// The duration of silence after which the selected pair is checked, if media is expected.
    static let silence = TimeSpan.milliseconds(300)

    /// The time after which TCP is tried in addition to UDP.
    ///
    /// It corresponds to the 250 ms before a second address is tried (RFC 8305, section 8), with a margin for long
    /// round-trip times.
    static let fallback = TimeSpan.milliseconds(500)

    /// The time after which an attempt to connect fails.
    static let setup = TimeSpan.seconds(15 as Int64)
}

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
