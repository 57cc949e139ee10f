package import PCastCore

/// Measures the presentation: counters, freezes, and latency and skew from the test pattern. It reads no clock; the
/// caller passes the time.
struct RenderMeter {
    private static let second = TimeSpan.seconds(1)

    /// The range of plausible latencies. Other images pass the checksum of the time strip once in 256 times.
    private static let believable = TimeSpan.milliseconds(-50)...TimeSpan.seconds(10)

    var counts = RenderStatistics()
    private var freezes = FreezeMeter()
    private var wholeRun = LatencyHistogram()
    private var startUp = StartUpMeter()
    private var recent = RecentSpans(capacity: 256)
    private var skews = RecentSpans(capacity: 600)
    private var videoLatency: TimeSpan?
    private var lastFrame: Instant?
    private var clapper = ClapperDetector()

    /// The audio delay of encoder and decoder.
    private let audioDecoderDelay: TimeSpan

    init(audioDecoderDelay: TimeSpan) { self.audioDecoderDelay = audioDecoderDelay }

    /// Records that a frame was presented. Its timestamp is nil if it belongs to no track. The stamp is nil if it has
    /// no test pattern.
    mutating func shown(timestamp: MediaTime? = nil, stamp: TestPatternStamp?, at now: Instant, wallTime: WallTime) {
        counts.framesRendered += 1
        freezes.shown(at: now)
        let latency = stamp.map { wallTime - $0.captureTime(near: wallTime) }.flatMap {
            Self.believable.contains($0) ? $0 : nil
        }
        if let timestamp { startUp.shown(timestamp: timestamp, latency: latency, at: now) }
        guard stamp != nil else {
            if let broken = counts.framesBroken { counts.framesBroken = broken + 1 }
            return
        }
        guard let latency else { return }
        counts.framesBroken = counts.framesBroken ?? 0
        wholeRun.add(latency)
        recent.add(latency, at: now)
        videoLatency = latency
        lastFrame = now
    }

    /// Records concealed audio. `isMadeUp` is whether it is extrapolated, and not from error correction.
    mutating func concealed(_ length: TimeSpan, isMadeUp: Bool) {
        counts.audioFramesConcealed += 1
        if isMadeUp { counts.audioConcealedDuration += length }
    }

    /// Records audio that was not played.
    mutating func silent(for length: TimeSpan) {
        counts.audioDuration += length
        counts.audioConcealedDuration += length
    }

    /// Records the placement of audio.
    mutating func scheduled(_ placed: AudioPlayoutLine.TimedAudio) {
        counts.audioDuration += placed.audio.length + placed.gap
        counts.audioConcealedDuration += placed.gap
    }

    /// Records audio that is played from `now` on.
    mutating func played(_ frame: AudioFrame, at now: Instant, wallTime: WallTime) {
        guard let offset = clapper.listen(to: frame), let videoLatency, let lastFrame,
            now - lastFrame < Self.second
        else { return }
        let playedAt = wallTime + offset - audioDecoderDelay
        // A clap slightly before a full second belongs to that second.
        let latency = playedAt - ClapperSchedule.second(of: playedAt + .milliseconds(50))
        skews.add(latency - videoLatency, at: now)
    }

    /// Returns counters since the start, and percentiles of the last second before `now`, or since the start if it is
    /// nil.
    func statistics(lastSecondBefore now: Instant?) -> RenderStatistics {
        var statistics = counts
        statistics.freezeCount = freezes.freezeCount
        statistics.freezeDuration = freezes.freezeDuration
        if let now {
            statistics.latencyP50 = recent.percentile(0.5, since: now - Self.second)
            statistics.latencyP99 = recent.percentile(0.99, since: now - Self.second)
            statistics.audioVideoSkew = skews.percentile(0.5, since: now - Self.second * 2)
        } else {
            statistics.latencyP50 = wholeRun.percentile(0.5)
            statistics.latencyP99 = wholeRun.percentile(0.99)
            statistics.audioVideoSkew = skews.percentile(0.5)
            measureStartUp(&statistics)
        }
        return statistics
    }

    private func measureStartUp(_ statistics: inout RenderStatistics) {
        guard let result = startUp.result else { return }
        statistics.timeToLiveEdge = result.timeToLiveEdge
        statistics.startUpFramesRendered = result.framesRendered
        statistics.startUpLatencyMaximum = result.latencies.max()
        var steady = wholeRun
        for latency in result.latencies { steady.remove(latency) }
        statistics.steadyLatencyP50 = steady.percentile(0.5)
        statistics.steadyLatencyP99 = steady.percentile(0.99)
    }
}

/// A bounded history of durations with their times. The oldest is replaced.
struct RecentSpans {
    private var entries: [(instant: Instant, span: TimeSpan)] = []
    private var next = 0
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        entries.reserveCapacity(capacity)
    }

    mutating func add(_ span: TimeSpan, at now: Instant) {
        if entries.count < capacity {
            entries.append((now, span))
        } else {
            entries[next] = (now, span)
        }
        next = (next + 1) % capacity
    }

    /// Returns a percentile of the durations since a time; of all if it is nil. Returns nil if there are none.
    func percentile(_ part: Double, since start: Instant? = nil) -> TimeSpan? {
        let spans = entries.filter { start == nil || $0.instant >= start! }.map(\.span).sorted()
        guard !spans.isEmpty else { return nil }
        return spans[min(Int(part * Double(spans.count)), spans.count - 1)]
    }
}

/// Counts freezes as defined in W3C webrtc-stats (`freezeCount`): an interval between frames of at least three times
/// the mean, and at least 150 ms above it. The mean covers the last 30 intervals.
package struct FreezeMeter: Sendable {
    private static let window = 30

    private var intervals: [TimeSpan] = []
    private var next = 0
    private var sum = TimeSpan.zero
    private var lastShown: Instant?

    /// The number of freezes.
    package private(set) var freezeCount = 0
    /// The total duration of the freezes.
    package private(set) var freezeDuration = TimeSpan.zero

    /// Creates a meter with zeros.
    package init() { intervals.reserveCapacity(Self.window) }

    /// Records that a frame was presented.
    package mutating func shown(at now: Instant) {
        defer { lastShown = now }
        guard let lastShown else { return }
        let interval = now - lastShown
        if !intervals.isEmpty {
            let mean = sum / Int64(intervals.count)
            if interval >= max(mean * 3, mean + .milliseconds(150)) {
                freezeCount += 1
                freezeDuration += interval
            }
        }
        remember(interval)
    }

    private mutating func remember(_ interval: TimeSpan) {
        sum += interval
        if intervals.count < Self.window {
            intervals.append(interval)
            return
        }
        sum -= intervals[next]
        intervals[next] = interval
        next = (next + 1) % Self.window
    }
}

/// A histogram of latencies in steps of equal length. Its size does not depend on the number of latencies.
package struct LatencyHistogram: Sendable {
    private let step: TimeSpan
    private var counts: [UInt32]
    /// The number of latencies.
    package private(set) var count = 0

    /// Creates an empty histogram. Latencies above the last step count as part of it. The default is steps of 0.1 ms up
    /// to two seconds.
    package init(step: TimeSpan = .microseconds(100), stepCount: Int = 20_000) {
        self.step = step
        counts = [UInt32](repeating: 0, count: stepCount)
    }

    /// Adds a latency.
    package mutating func add(_ latency: TimeSpan) {
        counts[index(of: latency)] &+= 1
        count += 1
    }

    /// Adds the latencies of a histogram with the same steps.
    package mutating func add(_ others: LatencyHistogram) {
        precondition(step == others.step && counts.count == others.counts.count, "the histograms have the same steps")
        for index in counts.indices { counts[index] &+= others.counts[index] }
        count += others.count
    }

    /// Removes a latency that was added.
    mutating func remove(_ latency: TimeSpan) {
        let index = index(of: latency)
        precondition(counts[index] > 0, "only an added value may be removed")
        counts[index] -= 1
        count -= 1
    }

    private func index(of latency: TimeSpan) -> Int {
        min(max(Int(latency.nanoseconds / step.nanoseconds), 0), counts.count - 1)
    }

    /// Removes all latencies.
    package mutating func removeAll() {
        guard count > 0 else { return }
        for index in counts.indices { counts[index] = 0 }
        count = 0
    }

    /// Returns the latency that a fraction of all latencies does not exceed, rounded up to a step; 0.5 gives the
    /// median. Returns nil for an empty histogram.
    package func percentile(_ part: Double) -> TimeSpan? {
        guard count > 0 else { return nil }
        let rank = min(max(Int((part * Double(count)).rounded(.up)), 1), count)
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += Int(number)
            if seen >= rank { return step * Int64(index + 1) }
        }
        return nil
    }
}

/// Measures how long a viewer takes from its first frame to the live edge.
///
/// A frame is at the live edge when its lag is at most one frame interval more than the median lag of the later frames.
/// The lag of a frame is the time from its timestamp to its presentation. It contains an unknown constant, because
/// timestamps begin anywhere. The comparison cancels this constant, so any stream can be measured.
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
