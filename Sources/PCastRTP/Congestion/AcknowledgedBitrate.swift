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
    /// Bytes of the last spans of 25 ms, each at its number modulo four.
    private var burst = SIMD4<Int>(repeating: 0)
    private var newestBurst: Int64 = 0
    private static let burstSpan = TimeSpan.milliseconds(100)

    /// Nil before the first window is full.
    var bitrate: Bitrate? { kilobits.map { Bitrate(bitsPerSecond: Int64($0 * 1000)) } }

    /// The same, or what arrived in the last tenth of a second if that was more: of a sudden burst the filter knows later.
    var fastest: Bitrate? {
        guard let bitrate else { return nil }
        return max(bitrate, Bitrate(bitsPerSecond: Int64(Double(burst.wrappedSum() * 8) / Self.burstSpan.seconds)))
    }

    /// A packet arrived, by the peer's clock.
    mutating func arrived(size: Int, at arrival: TimeSpan) {
        count(size, at: arrival)
        guard let sample = sample(size: size, at: arrival) else { return }
        guard let kilobits else { return self.kilobits = sample }
        let doubt = Self.uncertainty * abs(kilobits - sample) / max(kilobits, 1)
        let sampleVariance = doubt * doubt
        let predicted = variance + Self.processVariance
        self.kilobits = (sampleVariance * kilobits + predicted * sample) / (sampleVariance + predicted)
        variance = sampleVariance * predicted / (sampleVariance + predicted)
    }

    private mutating func count(_ size: Int, at arrival: TimeSpan) {
        let number = arrival.nanoseconds / (Self.burstSpan.nanoseconds / Int64(burst.scalarCount))
        while newestBurst < number {
            newestBurst =
                number - newestBurst > Int64(burst.scalarCount) ? number - Int64(burst.scalarCount) : newestBurst + 1
            burst[Int(newestBurst) % burst.scalarCount] = 0
        }
        burst[Int(newestBurst) % burst.scalarCount] += size
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
