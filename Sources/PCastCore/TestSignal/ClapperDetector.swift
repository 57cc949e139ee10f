/// Detects the beginning of the 1 kHz tone of the test signal with an error of less than a millisecond.
///
/// A running correlation with 1 kHz over one period (1 ms) rises from zero to the level of the tone while the window
/// moves over the beginning. It is at half the level when the beginning is in the middle of the window. The level is
/// known 20 ms later. Then the tone is checked for purity, because music must not be detected.
package struct ClapperDetector: Sendable {
    private static let period = AudioFrame.sampleRate / ClapperSchedule.frequency
    private static let judgement = 20 * period
    private static let pause = 50 * period

    /// The minimum correlation of a tone, which is a sine at -40 dBFS.
    private static let minimumLevel = 0.01

    /// The minimum share of the tone in the energy.
    private static let minimumToneShare = 0.7

    private let cosine: [Double]
    private let sine: [Double]
    private var window: [Double]
    private var position: Int64 = 0
    private var inPhase = 0.0
    private var inQuadrature = 0.0

    /// The samples since the possible beginning of a tone, and the level at each.
    private var samples: [Double] = []
    private var levels: [Double] = []
    /// The number of quiet samples before the current one. A tone that began before the first sample is not detected.
    private var quietSamples = 0

    /// Creates a detector that has received no audio.
    package init() {
        cosine = (0..<Self.period).map { Self.cosine(turn: Double($0) / Double(Self.period)) }
        sine = (0..<Self.period).map { Self.cosine(turn: Double($0) / Double(Self.period) - 0.25) }
        window = Array(repeating: 0, count: Self.period)
        levels.reserveCapacity(Self.judgement)
        samples.reserveCapacity(Self.judgement)
    }

    /// Processes the next frame of a continuous track. Returns the beginning of a tone relative to the first sample of
    /// the frame; nil if none was detected. It is negative if the tone began in an earlier frame, because detection
    /// takes 20 ms.
    package mutating func listen(to frame: AudioFrame) -> TimeSpan? {
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

    /// Processes one sample. Returns the number of samples since the beginning of a tone if it was just detected; nil
    /// otherwise.
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
            quietSamples = level < Self.minimumLevel ? quietSamples + 1 : 0
            guard level >= Self.minimumLevel, wasQuiet else { return nil }
        }
        levels.append(level)
        samples.append(sample)
        guard levels.count == Self.judgement else { return nil }
        defer {
            levels.removeAll(keepingCapacity: true)
            samples.removeAll(keepingCapacity: true)
            quietSamples = 0
        }
        return evaluate()
    }

    /// Computes the sums of the window from its samples, so that rounding errors do not accumulate.
    private mutating func recompute() {
        inPhase = 0
        inQuadrature = 0
        for slot in 0..<Self.period {
            inPhase += window[slot] * cosine[slot]
            inQuadrature += window[slot] * sine[slot]
        }
    }

    /// Returns the number of samples since the beginning of the tone; nil if the audio was not the tone.
    private func evaluate() -> Double? {
        let half = levels.count / 2
        let steady = levels[half...].reduce(0, +) / Double(levels.count - half)
        guard purity(of: samples[half...]) >= Self.minimumToneShare,
            let index = levels.firstIndex(where: { $0 >= steady / 2 })
        else { return nil }
        var crossing = Double(index)
        if index > 0 {
            let rise = levels[index] - levels[index - 1]
            crossing -= (levels[index] - steady / 2) / rise
        }
        // The window ends at the crossing, and the tone begins in its middle.
        return Double(levels.count - 1) - crossing + Double(Self.period) / 2 - 0.5
    }

    /// Returns the share of the energy at 1 kHz, with a tolerance of the inverse of the duration (100 Hz).
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

    /// Returns the cosine of a fraction of a full turn by its power series, because this module imports no mathematics
    /// library.
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

/// The schedule of the tone and disc of the test signal: the first 100 ms of each UTC second.
package enum ClapperSchedule {
    /// The duration of the tone and the disc.
    package static let length = TimeSpan.milliseconds(100)

    /// The frequency of the tone in hertz.
    package static let frequency = 1_000

    /// Returns whether the tone and the disc are present at a time.
    package static func isClapping(at time: WallTime) -> Bool { time - second(of: time) < length }

    /// Returns the beginning of the UTC second that contains a time.
    package static func second(of time: WallTime) -> WallTime {
        let billion: Int64 = 1_000_000_000
        let rest = (time.nanosecondsSinceEpoch % billion + billion) % billion
        return time - .nanoseconds(rest)
    }
}
