public import PCastMedia

/// How far a stream with a single layer has to be lowered for its viewers' sake.
///
/// When half of the viewers or more have no room for the stream for 0.3 s, its publisher is asked for as much as more
/// than half of them can take. Less is asked for at once, more in steps of a tenth or more that lie a second apart (CC13);
/// and nothing any more when more than half have had room for all of it for three seconds.
public struct SharedLimit: Sendable {
    private static let onset = TimeSpan.milliseconds(300)
    private static let release = TimeSpan.seconds(3 as Int64)
    private static let stepInterval = TimeSpan.seconds(1 as Int64)

    private var isNeeded = SustainedCondition(onset: onset, release: release)
    private var full: Bitrate?
    private var lastRaise: Instant?

    /// What the publisher is asked for; nil for as much as it likes.
    public private(set) var bitrate: Bitrate?

    public init() {}

    /// What the stream has when it is not lowered; nil while it is not.
    public var wantedInFull: Bitrate? { bitrate == nil ? nil : full }

    /// - Parameters:
    ///   - estimates: of the viewers' downlinks; those that are not known are left out. Reordered.
    ///   - viewers: how many there are.
    ///   - limited: how many of them are known to be limited by their downlinks.
    ///   - wanted: the stream's bitrate as its publisher would have it, were it not lowered.
    public mutating func observe(
        estimates: inout [Bitrate], viewers: Int, limited: Int, wanted: Bitrate, at now: Instant
    ) {
        let half = share(of: &estimates)
        guard let bitrate else {
            isNeeded.observe(viewers > 0 && limited * 2 >= viewers, at: now)
            guard isNeeded.holds, let half, half < wanted else { return }
            full = wanted
            self.bitrate = half
            lastRaise = now
            return
        }
        full = max(full ?? wanted, wanted)
        isNeeded.observe(viewers == 0 ? false : half.map { $0 < full! }, at: now)
        if !isNeeded.holds {
            self = SharedLimit()
        } else if let half {
            follow(min(half, full!), from: bitrate, at: now)
        }
    }

    private mutating func follow(_ half: Bitrate, from bitrate: Bitrate, at now: Instant) {
        if half < bitrate {
            self.bitrate = half
        } else if half.bitsPerSecond * 10 >= bitrate.bitsPerSecond * 11 || half == full,
            lastRaise.map({ now - $0 >= Self.stepInterval }) ?? true
        {
            self.bitrate = half
            lastRaise = now
        }
    }

    /// The largest bitrate that more than half of the viewers can take.
    private func share(of estimates: inout [Bitrate]) -> Bitrate? {
        guard !estimates.isEmpty else { return nil }
        estimates.sort()
        return estimates[(estimates.count - 1) / 2]
    }
}
