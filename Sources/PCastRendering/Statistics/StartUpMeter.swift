import PCastMedia

/// Measures how long a viewer takes from its first frame to the live edge.
///
/// A frame is at the live edge when its lag is at most one frame interval more than the median lag of the later frames. The lag
/// is the time from the frame's timestamp to its presentation. Its unknown constant falls out of the comparison, so that any
/// stream can be measured.
struct StartUpMeter {
    /// One frame of the start-up phase.
    private struct Entry {
        var shown: Instant
        var lag: TimeSpan
        /// From capture to presentation; nil without a test pattern.
        var latency: TimeSpan?
    }

    /// A viewer that needs longer than this after the first frame has not reached the live edge.
    private static let longest = TimeSpan.seconds(5)
    /// The median covers frames from and up to these times after the first.
    private static let later = TimeSpan.seconds(1)...TimeSpan.seconds(10)
    /// Frames that are remembered for each; 100 frames per second for the whole length.
    private static let capacity = 500
    private static let laterCapacity = 900
    /// Fewer later frames have no median.
    private static let fewestLater = 15

    private var first: Instant?
    private var entries: [Entry] = []
    private var laterLags: [TimeSpan] = []
    private var laterTimestamps: (first: TimeSpan, last: TimeSpan)?

    /// Takes in a frame that was presented.
    ///
    /// - Parameter latency: from capture to presentation; nil without a test pattern.
    mutating func shown(timestamp: MediaTime, latency: TimeSpan?, at now: Instant) {
        let begin = first ?? now
        first = begin
        let (elapsed, position) = (now - begin, timestamp.span)
        let lag = TimeSpan.nanoseconds(now.nanoseconds) - position
        if elapsed <= Self.longest, entries.count < Self.capacity {
            entries.append(Entry(shown: now, lag: lag, latency: latency))
        }
        if Self.later.contains(elapsed), laterLags.count < Self.laterCapacity {
            laterLags.append(lag)
            laterTimestamps = (laterTimestamps?.first ?? position, position)
        }
    }

    /// What was measured of the start-up phase.
    struct Result {
        /// From the first frame to the first frame at the live edge.
        var timeToLiveEdge: TimeSpan
        /// The latencies of the frames that were presented before the live edge.
        var latencies: [TimeSpan]
        /// Frames that were presented before the live edge.
        var framesRendered: Int
    }

    /// Nil while too few frames were presented, and when the viewer did not reach the live edge in time.
    var result: Result? {
        guard let first, laterLags.count >= Self.fewestLater, let laterTimestamps else { return nil }
        let median = laterLags.sorted()[laterLags.count / 2]
        let interval = (laterTimestamps.last - laterTimestamps.first) / Int64(laterLags.count - 1)
        guard let edge = entries.firstIndex(where: { $0.lag <= median + interval }) else { return nil }
        return Result(
            timeToLiveEdge: entries[edge].shown - first, latencies: entries[..<edge].compactMap(\.latency),
            framesRendered: edge)
    }
}
