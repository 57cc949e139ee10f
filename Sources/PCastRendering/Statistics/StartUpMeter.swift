import PCastCore

/// Measures how long a viewer takes from its first frame to the live edge.
///
/// A frame is at the live edge when its lag is at most one frame interval more than the median lag of the later frames.
/// The lag is the time from the frame's timestamp to its presentation. It contains an unknown constant, which the
/// comparison cancels, so that any stream can be measured.
struct StartUpMeter {
    /// A frame of the start-up phase.
    private struct Entry {
        var shown: Instant
        var lag: TimeSpan
        /// The time from capture to presentation; nil without a test pattern.
        var latency: TimeSpan?
    }

    /// The time after the first frame within which the live edge must be reached.
    private static let longest = TimeSpan.seconds(5)
    /// The median covers frames in this time after the first one.
    private static let later = TimeSpan.seconds(1)...TimeSpan.seconds(10)
    /// The most frames that are stored: 100 frames per second.
    private static let capacity = 500
    private static let laterCapacity = 900
    /// The fewest later frames that give a median.
    private static let fewestLater = 15

    private var first: Instant?
    private var entries: [Entry] = []
    private var laterLags: [TimeSpan] = []
    private var laterTimestamps: (first: TimeSpan, last: TimeSpan)?

    /// Records a frame that was presented. The latency is from capture to presentation; nil without a test pattern.
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

    /// The measurement of the start-up phase.
    struct Result {
        /// The time from the first frame to the first frame at the live edge.
        var timeToLiveEdge: TimeSpan
        /// The latencies of the frames that were presented before the live edge.
        var latencies: [TimeSpan]
        /// The number of frames that were presented before the live edge.
        var framesRendered: Int
    }

    /// The measurement; nil while too few frames were presented, and if the viewer did not reach the live edge in time.
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
