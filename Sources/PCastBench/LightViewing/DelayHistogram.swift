import PCastMedia

/// Short times in buckets that are a sixteenth of an octave wide, from a microsecond to a second; what took longer stands
/// in the last.
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
        // Which sixteenth of its octave it is; a shift binds closer than a product.
        let step = Int((microseconds * Int64(steps)) >> Int64(octave)) - steps
        return min(octave * steps + step, steps * octaves - 1)
    }

    /// By nearest rank, the bucket's upper end, in milliseconds; nil of nothing.
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
