package import PCastCore

/// Determines how much the bit rate of a stream with a single layer must be lowered for its viewers.
///
/// The limit applies if at least half of the viewers have too little bandwidth for the stream for 0.3 s. The publisher
/// is then asked for the bit rate that more than half of them can receive. It is decreased at once, and increased in
/// steps of at least 10 % at intervals of at least a second. The request ends when more than half of the viewers have
/// had enough bandwidth for the whole stream for three seconds.
package struct SharedLimit: Sendable {
    /// The time after which the bit rate is lowered.
    private static let onset = TimeSpan.milliseconds(300)
    /// The time after which the request ends.
    private static let release = TimeSpan.seconds(3 as Int64)
    /// The minimum time between increases.
    private static let stepInterval = TimeSpan.seconds(1 as Int64)

    /// Whether the bit rate must be lowered.
    private var isNeeded = SustainedCondition(onset: onset, release: release)
    /// The bit rate without the request; nil if there is none.
    private var full: Bitrate?
    /// The time of the last increase.
    private var lastRaise: Instant?

    /// The bit rate that is requested from the publisher; nil for no limit.
    package private(set) var bitrate: Bitrate?

    /// Creates a state without a request.
    package init() {}

    /// The bit rate of the stream without the request; nil if there is none.
    package var desiredBitrateInFull: Bitrate? { bitrate == nil ? nil : full }

    /// Updates the request.
    ///
    /// - Parameters:
    ///   - estimates: The available bandwidths of the viewers' downlinks, as far as known; they are sorted.
    ///   - viewers: The number of viewers.
    ///   - limited: The number of viewers with a limited downlink.
    ///   - wanted: The bit rate at which the publisher would send without the request.
    ///   - now: The current time.
    package mutating func observe(
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

    /// Changes the request to a new bit rate, if it is lower or an increase is due.
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

    /// Returns the maximum bit rate that more than half of the viewers can receive; nil if unknown.
    private func share(of estimates: inout [Bitrate]) -> Bitrate? {
        guard !estimates.isEmpty else { return nil }
        estimates.sort()
        return estimates[(estimates.count - 1) / 2]
    }
}
