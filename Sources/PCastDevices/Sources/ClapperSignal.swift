import Glibc
import PCastMedia

/// The sound of the test signal by its place in UTC: the clapper's tone, and quiet noise between.
///
/// A sample has the same value in whatever frame it is asked for, so that the tone begins at its UTC second and runs
/// on across frames.
struct ClapperSignal {
    /// A quarter of full scale (-12 dBFS).
    private static let toneAmplitude = 8_192.0

    /// Uniform noise of -60 dBFS: its root mean square is the bound over the root of three.
    private static let noiseBound = 32.768 * 3.0.squareRoot()

    private let tone: [Int16]

    init() {
        let period = AudioFrame.sampleRate / ClapperSchedule.frequency
        tone = (0..<period).map {
            Int16((Self.toneAmplitude * sin(Double($0) / Double(period) * 2 * .pi)).rounded())
        }
    }

    /// The sample that stands at this count of samples since 1970.
    func sample(at index: Int64) -> Int16 {
        let rate = Int64(AudioFrame.sampleRate)
        let inSecond = (index % rate + rate) % rate
        if inSecond < ClockRate.opus.ticks(in: ClapperSchedule.length) { return tone[Int(inSecond) % tone.count] }
        return Int16((Self.noise(index) * Self.noiseBound).rounded())
    }

    /// `count` samples a channel from the given one on.
    func samples(from index: Int64, count: Int, channels: Int) -> [Int16] {
        var samples: [Int16] = []
        samples.reserveCapacity(count * channels)
        for offset in 0..<Int64(count) {
            let sample = sample(at: index + offset)
            for _ in 0..<channels { samples.append(sample) }
        }
        return samples
    }

    /// Chance without state from -1 to 1: the index, mixed (SplitMix64's finalizer).
    private static func noise(_ index: Int64) -> Double {
        var bits = UInt64(bitPattern: index) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return Double(Int64(bitPattern: bits ^ bits >> 31)) / 0x1p63
    }
}
