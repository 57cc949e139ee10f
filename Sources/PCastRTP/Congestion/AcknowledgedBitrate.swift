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
    private var burst = InlineArray<4, Int>(repeating: 0)
    /// The last span's number, by a clock that may stand before its zero; nil before the first packet.
    private var newestBurst: Int64?
    private static let burstSpan = TimeSpan.milliseconds(100)
    /// What arrived so many spans before others was not overtaken: the peer's clock went back.
    private static let clockStep: Int64 = 40

    /// Nil before the first window is full.
    var bitrate: Bitrate? { kilobits.map { Bitrate(bitsPerSecond: Int64($0 * 1000)) } }

    /// The same, or what arrived in the last tenth of a second if that was more: of a sudden burst the filter knows later.
    var fastest: Bitrate? {
        guard let bitrate else { return nil }
        let bytes = burst.indices.reduce(0) { $0 + burst[$1] }
        return max(bitrate, Bitrate(bitsPerSecond: Int64(Double(bytes * 8) / Self.burstSpan.seconds)))
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
        let spans = Int64(burst.count)
        let length = Self.burstSpan.nanoseconds / spans
        // Rounded down below zero as well: a reference time has a sign, and half of all clocks stand there.
        let number = (arrival.nanoseconds >= 0 ? arrival.nanoseconds : arrival.nanoseconds - length + 1) / length
        let newest = newestBurst ?? number
        if abs(number - newest) >= Self.clockStep {
            burst = InlineArray(repeating: 0)
            newestBurst = number
        } else {
            for passed in newest..<max(newest, number) { burst[Self.place(passed + 1, of: spans)] = 0 }
            newestBurst = max(newest, number)
            guard newest - number < spans else { return }
        }
        burst[Self.place(number, of: spans)] += size
    }

    /// Spans are a power of two, so that this is their modulus below zero as well.
    private static func place(_ number: Int64, of spans: Int64) -> Int { Int(number & (spans - 1)) }

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
        // A clock that went back far goes on from there.
        last = last.map { $0 - arrival > .seconds(Int64(1)) ? arrival : max($0, arrival) } ?? arrival
        defer { sum += size }
        guard filled >= window else { return nil }
        let sample = Double(sum) * 8 / window.milliseconds
        sum = 0
        filled -= window
        return sample
    }
}
