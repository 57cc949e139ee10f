internal import PCastMedia

/// Which of several addresses to ask, and when, by how they have failed.
struct ReloadMirrors: Sendable {
    private struct Mirror {
        var failures = 0
        var notBefore: Instant?
        var isUseless = false
    }

    private var mirrors: [Mirror]
    private var state: UInt64
    private(set) var current = 0

    static let firstPause = TimeSpan.milliseconds(500)
    static let longestPause = TimeSpan.seconds(8 as Int64)
    /// The longest that a server's own wish is heeded.
    static let longestRetryAfter = TimeSpan.seconds(60 as Int64)

    init(count: Int, seed: UInt64) {
        mirrors = Array(repeating: Mirror(), count: count)
        state = seed
    }

    mutating func succeeded(_ index: Int) { mirrors[index] = Mirror() }

    /// Goes over to another address, if one can be asked now.
    mutating func leave(at now: Instant) -> Bool {
        let others = mirrors.indices.filter {
            $0 != current && !mirrors[$0].isUseless && mirrors[$0].notBefore ?? now <= now
        }
        // The next in turn, so that each is tried.
        guard let next = others.first(where: { $0 > current }) ?? others.first else { return false }
        current = next
        return true
    }

    /// - Returns: When to ask next, and `current` says where; nil where no address is left.
    mutating func failed(_ index: Int, _ failure: ReloadFailure, at now: Instant) -> Instant? {
        mirrors[index].failures += 1
        mirrors[index].isUseless = failure.isFinal
        var pause = min(
            Self.firstPause * (1 << Int64(min(mirrors[index].failures - 1, 10))), Self.longestPause)
        // By a quarter more or less.
        pause += TimeSpan(nanoseconds: pause.nanoseconds / 4 * (Int64(random() % 2_001) - 1_000) / 1_000)
        if case .status(_, let wish?) = failure { pause = max(pause, min(wish, Self.longestRetryAfter)) }
        mirrors[index].notBefore = now + pause
        let usable = mirrors.indices.filter { !mirrors[$0].isUseless }
        func time(_ index: Int) -> Instant { max(now, mirrors[index].notBefore ?? now) }
        guard let next = usable.min(by: { time($0) < time($1) }) else { return nil }
        current = next
        return time(next)
    }

    /// SplitMix64 (Steele et al. 2014).
    private mutating func random() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
