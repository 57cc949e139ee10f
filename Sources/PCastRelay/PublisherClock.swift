import PCastMedia

/// Brings a publisher's wall clock, which may be hours off, to the relay's (RTCP3).
///
/// One offset for a publisher's sound and picture, so that what was captured together stays together. The smallest
/// difference between when a report was written and when it arrived is the truest, for the network only adds to it;
/// drift of the clocks is followed slowly.
struct PublisherClock {
    private var offset: TimeSpan?

    /// - Parameters:
    ///   - reported: when the report was written, by the publisher.
    ///   - arrival: when it arrived, by the relay.
    mutating func observe(reported: WallTime, arrival: WallTime) {
        let sample = arrival - reported
        guard let offset else {
            self.offset = sample
            return
        }
        self.offset = sample < offset ? sample : offset + (sample - offset) / 128
    }

    /// A time of the publisher's by the relay's clock; nil before the first report.
    func relayTime(of time: WallTime) -> WallTime? { offset.map { time + $0 } }
}
