import PCastCore

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
