internal import PCastCore

/// Chooses among mirrors and delays retries, depending on earlier failures.
struct ReloadMirrors: Sendable {
    /// The state of a mirror.
    private struct Mirror {
        /// The number of failures since the last success.
        var failures = 0
        /// The time before which the mirror is not tried; nil if it has not failed.
        var notBefore: Instant?
        /// Whether the last failure is final (``ReloadFailure/isFinal``).
        var isUseless = false
    }

    private var mirrors: [Mirror]
    /// The state of the random generator.
    private var state: UInt64
    /// The index of the mirror to use.
    private(set) var current = 0

    /// The delay after the first failure, which doubles with each further one.
    static let firstPause = TimeSpan.milliseconds(500)
    /// The upper bound of the doubled delay.
    static let longestPause = TimeSpan.seconds(8 as Int64)
    /// The upper bound for the `Retry-After` of a server.
    static let longestRetryAfter = TimeSpan.seconds(60 as Int64)

    init(count: Int, seed: UInt64) {
        mirrors = Array(repeating: Mirror(), count: count)
        state = seed
    }

    /// Clears the failures of a mirror.
    mutating func succeeded(_ index: Int) { mirrors[index] = Mirror() }

    /// Switches to the next mirror that can be tried now. Returns false if there is none.
    mutating func leave(at now: Instant) -> Bool {
        let others = mirrors.indices.filter {
            $0 != current && !mirrors[$0].isUseless && mirrors[$0].notBefore ?? now <= now
        }
        // The order is cyclic, so that each mirror is tried.
        guard let next = others.first(where: { $0 > current }) ?? others.first else { return false }
        current = next
        return true
    }

    /// Records a failure and selects the mirror that can be tried first.
    ///
    /// - Parameters:
    ///   - index: The mirror that failed.
    ///   - failure: The reason.
    ///   - now: The current time.
    /// - Returns: The time at which to try ``current``; nil if all mirrors have failed permanently.
    mutating func failed(_ index: Int, _ failure: ReloadFailure, at now: Instant) -> Instant? {
        mirrors[index].failures += 1
        mirrors[index].isUseless = failure.isFinal
        var pause = min(
            Self.firstPause * (1 << Int64(min(mirrors[index].failures - 1, 10))), Self.longestPause)
        // The delay varies randomly by up to 25 % in either direction.
        pause += TimeSpan(nanoseconds: pause.nanoseconds / 4 * (Int64(random() % 2_001) - 1_000) / 1_000)
        if case .status(_, let retryAfter?) = failure { pause = max(pause, min(retryAfter, Self.longestRetryAfter)) }
        mirrors[index].notBefore = now + pause
        let usable = mirrors.indices.filter { !mirrors[$0].isUseless }
        func time(_ index: Int) -> Instant { max(now, mirrors[index].notBefore ?? now) }
        guard let next = usable.min(by: { time($0) < time($1) }) else { return nil }
        current = next
        return time(next)
    }

    /// Returns the next number of a SplitMix64 generator (Steele et al., 2014).
    private mutating func random() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
