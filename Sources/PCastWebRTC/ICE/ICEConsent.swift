public import PCastMedia

/// How long a peer has been silent (RFC 7675), counted from what it authenticated last.
///
/// The clock stands still until the first success (ICE4).
public struct ICEConsent: Sendable {
    /// RFC 7675, section 5.1: consent ends after 30 s.
    public static let lifetime = TimeSpan.seconds(30 as Int64)

    /// A peer silent for so long is said to be away (ICE3).
    public static let patience = TimeSpan.seconds(5 as Int64)

    /// When the peer last showed that it is there; nil before the first success.
    public private(set) var lastAuthenticated: Instant?

    public init() {}

    /// A successful check, ours or theirs: starts the clock.
    mutating func start(at now: Instant) { lastAuthenticated = max(lastAuthenticated ?? now, now) }

    /// Any other authenticated word of the peer: does not start it.
    mutating func extend(at now: Instant) {
        if lastAuthenticated != nil { start(at: now) }
    }

    public func isAway(at now: Instant) -> Bool { lastAuthenticated.map { now >= $0 + Self.patience } ?? false }

    public func hasExpired(at now: Instant) -> Bool { lastAuthenticated.map { now >= $0 + Self.lifetime } ?? false }

    /// When the answer of `isAway` or `hasExpired` changes next.
    public func deadline(after now: Instant) -> Instant? {
        guard let lastAuthenticated, !hasExpired(at: now) else { return nil }
        return lastAuthenticated + (isAway(at: now) ? Self.lifetime : Self.patience)
    }
}
