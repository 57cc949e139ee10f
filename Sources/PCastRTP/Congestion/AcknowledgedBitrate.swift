import PCastCore

/// The bit rate at which packets arrive, according to the peer's feedback.
///
/// It follows libwebrtc's `BitrateEstimator`, with samples over windows of 150 ms (500 ms for the first one). A
/// Bayesian filter combines them and gives less weight to samples far from the estimate.
struct AcknowledgedBitrate: Sendable {
    /// The duration of a sample.
    static let window = TimeSpan.milliseconds(150)
    /// The duration of the first sample.
    static let firstWindow = TimeSpan.milliseconds(500)
    /// The factor by which a sample's variance grows with its distance from the estimate.
    private static let uncertainty = 10.0
    /// The variance that the estimate gains per sample.
    private static let processVariance = 5.0
    /// The variance that is added when a sudden change is expected, because the application begins to use the available
    /// bandwidth.
    private static let changeVariance = 200.0

    /// The bytes of the current window.
    private var sum = 0
    /// The filled part of the current window.
    private var filled = TimeSpan.zero
    /// The arrival time of the last packet.
    private var last: TimeSpan?
    /// The estimate in kilobits per second; nil before the first window is full.
    private var kilobits: Double?
    /// The variance of the estimate.
    private var variance = 50.0
    /// The bytes that arrived in the last intervals of 25 ms, each at its number modulo four.
    private var burst = InlineArray<4, Int>(repeating: 0)
    /// The number of the last interval, which may be negative; nil before the first packet.
    private var newestBurst: Int64?
    private static let burstSpan = TimeSpan.milliseconds(100)
    /// The number of intervals by which an earlier arrival is not a reordered packet but a step back of the peer's
    /// clock.
    private static let clockStep: Int64 = 40

    /// The bit rate; nil before the first window is full.
    var bitrate: Bitrate? { kilobits.map { Bitrate(bitsPerSecond: Int64($0 * 1000)) } }

    /// The bit rate, or that of the last 100 ms if it is higher, because the filter reacts late to a burst. It is nil
    /// before the first window is full.
    var fastest: Bitrate? {
        guard let bitrate else { return nil }
        let bytes = burst.indices.reduce(0) { $0 + burst[$1] }
        return max(bitrate, Bitrate(bitsPerSecond: Int64(Double(bytes * 8) / Self.burstSpan.seconds)))
    }

    /// Records the arrival of a packet by the peer's clock.
    mutating func arrived(size: Int, at arrival: TimeSpan) {
        count(size, at: arrival)
        guard let sample = sample(size: size, at: arrival) else { return }
        guard let kilobits else { return self.kilobits = sample }
        let sampleUncertainty = Self.uncertainty * abs(kilobits - sample) / max(kilobits, 1)
        let sampleVariance = sampleUncertainty * sampleUncertainty
        let predicted = variance + Self.processVariance
        self.kilobits = (sampleVariance * kilobits + predicted * sample) / (sampleVariance + predicted)
        variance = sampleVariance * predicted / (sampleVariance + predicted)
    }

    /// Adds a packet to the intervals of the last 100 ms.
    private mutating func count(_ size: Int, at arrival: TimeSpan) {
        let spans = Int64(burst.count)
        let length = Self.burstSpan.nanoseconds / spans
        // The division rounds down for negative numbers as well: reference times are signed, and half of all clocks are
        // negative.
        let number = (arrival.nanoseconds >= 0 ? arrival.nanoseconds : arrival.nanoseconds - length + 1) / length
        let newest = newestBurst ?? number
        if abs(number - newest) >= Self.clockStep {
            burst = InlineArray(repeating: 0)
            newestBurst = number
        } else {
            for passed in newest..<max(newest, number) { burst[Self.slot(passed + 1, of: spans)] = 0 }
            newestBurst = max(newest, number)
            guard newest - number < spans else { return }
        }
        burst[Self.slot(number, of: spans)] += size
    }

    /// Returns the index of an interval. The number of intervals is a power of two, so this is the modulus of negative
    /// numbers as well.
    private static func slot(_ number: Int64, of spans: Int64) -> Int { Int(number & (spans - 1)) }

    /// Lets the estimate follow the next samples faster.
    mutating func expectChange() { variance += Self.changeVariance }

    /// Adds a packet to the window. Returns the rate of the window in kilobits per second if it is full; nil otherwise.
    private mutating func sample(size: Int, at arrival: TimeSpan) -> Double? {
        let window = kilobits == nil ? Self.firstWindow : Self.window
        if let last {
            // A reordered packet counts with the one before it.
            let passed = max(arrival - last, .zero)
            filled += passed
            if passed > window {
                sum = 0
                filled = TimeSpan(nanoseconds: filled.nanoseconds % window.nanoseconds)
            }
        }
        // If the clock has stepped back by more than a second, time continues from there.
        last = last.map { $0 - arrival > .seconds(Int64(1)) ? arrival : max($0, arrival) } ?? arrival
        defer { sum += size }
        guard filled >= window else { return nil }
        let sample = Double(sum) * 8 / window.milliseconds
        sum = 0
        filled -= window
        return sample
    }
}
