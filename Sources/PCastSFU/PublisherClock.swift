import PCastCore

/// Converts a publisher's wall clock, which may be wrong by hours, to the SFU's clock.
///
/// One offset applies to a publisher's audio and video, so that they stay synchronized. The smallest difference between
/// the writing and the arrival of a report is the most accurate, because the network only adds delay. Clock drift is
/// followed slowly.
struct PublisherClock {
    private(set) var offset: TimeSpan?
    /// Whether the publisher's clock is that of the SFU, because it is in the same process.
    private let isShared: Bool
    /// The number of consecutive reports whose time is far earlier than the offset implies.
    private var lateReports = 0

    /// The maximum delay of a report in any network.
    private static let longestDelay = TimeSpan.seconds(30 as Int64)
    /// The number of such reports after which the clock counts as set back.
    private static let confirmations = 3

    /// Creates a clock. The offset is unknown, or zero for a publisher that has the clock of the SFU.
    init(isShared: Bool = false) {
        self.isShared = isShared
        offset = isShared ? .zero : nil
    }

    /// Updates the offset by a report. `reported` is its time by the publisher's clock, `arrival` its arrival by the
    /// SFU's.
    mutating func observe(reported: WallTime, arrival: WallTime) {
        guard !isShared else { return }
        let sample = arrival - reported
        guard let offset else {
            self.offset = sample
            return
        }
        if sample - offset > Self.longestDelay {
            lateReports += 1
            guard lateReports >= Self.confirmations else { return }
            self.offset = sample
        } else {
            self.offset = sample < offset ? sample : offset + (sample - offset) / 128
        }
        lateReports = 0
    }

    /// Converts a time of the publisher to the SFU's clock. `arrival` is the arrival of the report that states the
    /// time. Returns nil before the first report, and if the result is implausible. Two tracks of a publisher may
    /// disagree.
    func relayTime(of time: WallTime, arrival: WallTime) -> WallTime? {
        guard let offset else { return nil }
        let relayTime = time + offset
        let delay = arrival - relayTime
        return max(delay, .zero - delay) <= Self.longestDelay ? relayTime : nil
    }
}
