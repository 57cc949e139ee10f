import PCastCore

/// Brings a publisher's wall clock, which may be hours off, to the relay's (RTCP3).
///
/// One offset for a publisher's sound and picture, so that what was captured together stays together. The smallest
/// difference between when a report was written and when it arrived is the truest, for the network only adds to it;
/// drift of the clocks is followed slowly.
struct PublisherClock {
    private(set) var offset: TimeSpan?
    /// Reports in a row that say a time from long before what the offset tells.
    private var lateReports = 0

    /// No network delays a report by more.
    private static let longestDelay = TimeSpan.seconds(30 as Int64)
    /// So many of them mean that the clock was set back.
    private static let confirmations = 3

    /// - Parameters:
    ///   - reported: when the report was written, by the publisher.
    ///   - arrival: when it arrived, by the relay.
    mutating func observe(reported: WallTime, arrival: WallTime) {
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

    /// A time of the publisher's by the relay's clock; nil before the first report, and where it cannot be: two clocks may
    /// disagree that a publisher has.
    ///
    /// - Parameter arrival: when the report that says it arrived.
    func relayTime(of time: WallTime, arrival: WallTime) -> WallTime? {
        guard let offset else { return nil }
        let relayTime = time + offset
        let delay = arrival - relayTime
        return max(delay, .zero - delay) <= Self.longestDelay ? relayTime : nil
    }
}
