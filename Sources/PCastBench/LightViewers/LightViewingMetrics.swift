import PCastCore
import PCastRendering

/// The combined statistics of light viewers.
struct LightViewingMetrics: Sendable {
    /// The number of viewers that have received video and audio since counting began and whose sessions have not ended.
    private(set) var watching = 0
    private(set) var packets = 0
    /// The sums of the statistics of `PacketChecker`.
    private(set) var missing = 0
    private(set) var reordered = 0
    private(set) var repeated = 0
    private(set) var backwards = 0
    /// Packets requested by NACK since the viewers joined.
    private(set) var requested = 0
    /// The complete frames of the viewer with the fewest, and of the viewer with the most.
    private(set) var fewestFrames: Int?
    private(set) var maximumFrames = 0
    private(set) var longestVideoStep = TimeSpan.zero
    private(set) var longestAudioStep = TimeSpan.zero
    /// The latencies of video frames.
    private(set) var lags = LatencyHistogram.ofLightViewer
    /// Datagrams that were not authentic.
    private(set) var rejected = 0
    /// The delays of packets from the publisher's sending to arrival.
    private(set) var delays = DelayHistogram()
    /// Datagrams that the kernel dropped because the viewers' thread did not read in time.
    var ownDrops = 0

    init(_ viewers: [LightViewer]) {
        for viewer in viewers {
            watching += viewer.isWatching ? 1 : 0
            requested += viewer.requested
            rejected += viewer.rejected
            delays.add(viewer.delays)
            for recorder in [viewer.video, viewer.audio] {
                packets += recorder.packets
                missing += recorder.missing
                reordered += recorder.reordered
                repeated += recorder.repeated
                backwards += recorder.backwards
            }
            fewestFrames = min(fewestFrames ?? .max, viewer.video.frames)
            maximumFrames = max(maximumFrames, viewer.video.frames)
            longestVideoStep = max(longestVideoStep, viewer.video.longestStep)
            longestAudioStep = max(longestAudioStep, viewer.audio.longestStep)
            lags.add(viewer.video.lags)
        }
    }

    /// The keys of `named`.
    static var names: [String] { LightViewingMetrics([]).named.map(\.key) }

    /// The statistics as named values for a report.
    var named: [(key: String, value: Double?)] {
        [
            ("lightViewers", Double(watching)), ("lightPackets", Double(packets)), ("lightMissing", Double(missing)),
            ("lightReordered", Double(reordered)), ("lightRepeated", Double(repeated)),
            ("lightRequested", Double(requested)), ("lightBackwards", Double(backwards)),
            ("lightFewestFrames", fewestFrames.map(Double.init)), ("lightMostFrames", Double(maximumFrames)),
            ("lightVideoStep", longestVideoStep.milliseconds), ("lightAudioStep", longestAudioStep.milliseconds),
            ("lightLagP50", lags.percentile(0.5)?.milliseconds), ("lightLagP99", lags.percentile(0.99)?.milliseconds),
            ("lightOwnDrops", Double(ownDrops)),
        ]
    }
}

extension LatencyHistogram {
    /// An empty histogram in steps of one millisecond up to a second, which is small enough for thousands of viewers.
    static var ofLightViewer: LatencyHistogram { LatencyHistogram(step: .milliseconds(1), stepCount: 1_000) }
}

/// A histogram of delays from 1 µs to 1 s with 16 buckets an octave; the last bucket includes longer delays.
struct DelayHistogram: Sendable {
    private static let steps = 16
    private static let octaves = 20

    private var counts = [UInt32](repeating: 0, count: steps * octaves)
    private(set) var count = 0

    mutating func add(_ delay: TimeSpan) {
        counts[Self.bucket(max(1, delay.nanoseconds / 1_000))] += 1
        count += 1
    }

    mutating func add(_ others: DelayHistogram) {
        for index in counts.indices { counts[index] += others.counts[index] }
        count += others.count
    }

    private static func bucket(_ microseconds: Int64) -> Int {
        let octave = 63 - microseconds.leadingZeroBitCount
        // The index within the octave; in Swift, `>>` has a higher precedence than `*`.
        let step = Int((microseconds * Int64(steps)) >> Int64(octave)) - steps
        return min(octave * steps + step, steps * octaves - 1)
    }

    /// Returns the percentile for a share from 0 to 1 by the nearest-rank method, as the upper bound of its bucket in
    /// milliseconds; nil without samples.
    func percentile(_ share: Double) -> Double? {
        guard count > 0 else { return nil }
        var left = max(1, Int((share * Double(count)).rounded(.up)))
        for (index, bucket) in counts.enumerated() {
            left -= Int(bucket)
            guard left <= 0 else { continue }
            let (octave, step) = index.quotientAndRemainder(dividingBy: Self.steps)
            return Double(1 << octave) * (1 + Double(step + 1) / Double(Self.steps)) / 1_000
        }
        return nil
    }
}
