/// Hears when the clapper's 1 kHz tone begins, to a fraction of a millisecond.
///
/// A running correlation with 1 kHz over one period (1 ms) rises from nothing to the tone's full level as the window
/// moves over its beginning, and is at half of it when the beginning stands in the window's middle. The level is known
/// 20 ms later, and only then is the tone judged: it must be pure, or music would be taken for it.
public struct ClapperDetector: Sendable {
    private static let period = AudioFrame.sampleRate / ClapperSchedule.frequency
    private static let judgement = 20 * period
    private static let pause = 50 * period

    /// Correlation that may be a tone: a sine at -40 dBFS.
    private static let leastLevel = 0.01

    /// The tone's share of the energy that it must have.
    private static let leastPurity = 0.7

    private let cosine: [Double]
    private let sine: [Double]
    private var window: [Double]
    private var position: Int64 = 0
    private var inPhase = 0.0
    private var inQuadrature = 0.0

    /// Samples since the tone may have begun, and the level at each.
    private var samples: [Double] = []
    private var levels: [Double] = []
    /// Samples of quiet before this one; a listener who comes in the middle of a tone has heard none.
    private var quietSamples = 0

    public init() {
        cosine = (0..<Self.period).map { Self.cosine(turn: Double($0) / Double(Self.period)) }
        sine = (0..<Self.period).map { Self.cosine(turn: Double($0) / Double(Self.period) - 0.25) }
        window = Array(repeating: 0, count: Self.period)
        levels.reserveCapacity(Self.judgement)
        samples.reserveCapacity(Self.judgement)
    }

    /// Listens to the next frame of a continuous track. Answers where a tone began, from the frame's first sample on:
    /// negative when in an earlier frame, because a tone is known 20 ms after it began.
    public mutating func listen(to frame: AudioFrame) -> TimeSpan? {
        var onset: TimeSpan?
        let scale = 1 / (32_768 * Double(frame.channels))
        for index in 0..<frame.sampleCount {
            var sum = 0
            for channel in 0..<frame.channels { sum += Int(frame.samples[index * frame.channels + channel]) }
            guard let samplesAgo = advance(Double(sum) * scale) else { continue }
            let nanoseconds = (Double(index) - samplesAgo) * 1e9 / Double(AudioFrame.sampleRate)
            onset = .nanoseconds(Int64(nanoseconds.rounded()))
        }
        return onset
    }

    /// Takes in one sample; answers how many samples ago a tone began, when that has just become known.
    private mutating func advance(_ sample: Double) -> Double? {
        let slot = Int(position % Int64(Self.period))
        let leaving = window[slot]
        window[slot] = sample
        inPhase += (sample - leaving) * cosine[slot]
        inQuadrature += (sample - leaving) * sine[slot]
        position += 1
        if slot == 0 { recompute() }
        let level = 2 * (inPhase * inPhase + inQuadrature * inQuadrature).squareRoot() / Double(Self.period)
        if levels.isEmpty {
            let wasQuiet = quietSamples >= Self.pause
            quietSamples = level < Self.leastLevel ? quietSamples + 1 : 0
            guard level >= Self.leastLevel, wasQuiet else { return nil }
        }
        levels.append(level)
        samples.append(sample)
        guard levels.count == Self.judgement else { return nil }
        defer {
            levels.removeAll(keepingCapacity: true)
            samples.removeAll(keepingCapacity: true)
            quietSamples = 0
        }
        return judge()
    }

    /// Sums the window anew, so that rounding cannot pile up.
    private mutating func recompute() {
        inPhase = 0
        inQuadrature = 0
        for slot in 0..<Self.period {
            inPhase += window[slot] * cosine[slot]
            inQuadrature += window[slot] * sine[slot]
        }
    }

    /// How many samples ago the tone began; nil when the sound was none.
    private func judge() -> Double? {
        let half = levels.count / 2
        let steady = levels[half...].reduce(0, +) / Double(levels.count - half)
        guard purity(of: samples[half...]) >= Self.leastPurity,
            let index = levels.firstIndex(where: { $0 >= steady / 2 })
        else { return nil }
        var crossing = Double(index)
        if index > 0 {
            let rise = levels[index] - levels[index - 1]
            crossing -= (levels[index] - steady / 2) / rise
        }
        // The window ends at the crossing, and the tone's beginning stands in its middle.
        return Double(levels.count - 1) - crossing + Double(Self.period) / 2 - 0.5
    }

    /// The share of the energy that lies at 1 kHz, give or take the inverse of the length (100 Hz).
    private func purity(of part: ArraySlice<Double>) -> Double {
        var (real, imaginary, energy) = (0.0, 0.0, 0.0)
        for (index, sample) in part.enumerated() {
            real += sample * cosine[index % Self.period]
            imaginary += sample * sine[index % Self.period]
            energy += sample * sample
        }
        guard energy > 0 else { return 0 }
        return 2 * (real * real + imaginary * imaginary) / (Double(part.count) * energy)
    }

    /// The cosine of a part of a turn, by its series: the nouns know no mathematics library.
    private static func cosine(turn: Double) -> Double {
        let folded = (turn - turn.rounded()) * 2 * Double.pi
        var term = 1.0
        var sum = 1.0
        for order in 1...14 {
            term *= -folded * folded / Double((2 * order - 1) * (2 * order))
            sum += term
        }
        return sum
    }
}
