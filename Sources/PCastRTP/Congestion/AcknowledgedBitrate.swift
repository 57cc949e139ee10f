import PCastMedia

/// The rate at which packets arrive, by what the peer reports.
///
/// After libwebrtc's `BitrateEstimator`: samples over windows of 150 ms (500 ms for the first), weighed by a Bayesian
/// filter that trusts a sample the less the further it is off.
struct AcknowledgedBitrate: Sendable {
    static let window = TimeSpan.milliseconds(150)
    static let firstWindow = TimeSpan.milliseconds(500)
    private static let uncertainty = 10.0
    private static let processVariance = 5.0
    /// A sudden change is expected when the application begins to use what it has.
    private static let changeVariance = 200.0

    private var sum = 0
    private var filled = TimeSpan.zero
    private var last: TimeSpan?
    private var kilobits: Double?
    private var variance = 50.0

    /// Nil before the first window is full.
    var bitrate: Bitrate? { kilobits.map { Bitrate(bitsPerSecond: Int64($0 * 1000)) } }

    /// A packet arrived, by the peer's clock.
    mutating func arrived(size: Int, at arrival: TimeSpan) {
        guard let sample = sample(size: size, at: arrival) else { return }
        guard let kilobits else { return self.kilobits = sample }
        let doubt = Self.uncertainty * abs(kilobits - sample) / max(kilobits, 1)
        let sampleVariance = doubt * doubt
        let predicted = variance + Self.processVariance
        self.kilobits = (sampleVariance * kilobits + predicted * sample) / (sampleVariance + predicted)
        variance = sampleVariance * predicted / (sampleVariance + predicted)
    }

    mutating func expectChange() { variance += Self.changeVariance }

    /// Kilobits a second of a window that became full.
    private mutating func sample(size: Int, at arrival: TimeSpan) -> Double? {
        let window = kilobits == nil ? Self.firstWindow : Self.window
        if let last {
            // What arrives out of order counts with the packet before it.
            let passed = max(arrival - last, .zero)
            filled += passed
            if passed > window {
                sum = 0
                filled = TimeSpan(nanoseconds: filled.nanoseconds % window.nanoseconds)
            }
        }
        last = max(last ?? arrival, arrival)
        defer { sum += size }
        guard filled >= window else { return nil }
        let sample = Double(sum) * 8 / window.milliseconds
        sum = 0
        filled -= window
        return sample
    }
}
