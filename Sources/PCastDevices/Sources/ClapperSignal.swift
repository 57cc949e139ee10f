import Glibc
import PCastCore

/// The audio of the test signal by UTC: the clapper's tone, and quiet noise in between.
///
/// A sample's value depends only on its time, so that the tone starts at the UTC second and continues across frames.
struct ClapperSignal {
    /// The amplitude of the tone, a quarter of full scale (-12 dBFS).
    private static let toneAmplitude = 8_192.0

    /// The bound of the uniform noise of -60 dBFS. Its root mean square is the bound divided by √3.
    private static let noiseBound = 32.768 * 3.0.squareRoot()

    private let tone: [Int16]

    init() {
        let period = AudioFrame.sampleRate / ClapperSchedule.frequency
        tone = (0..<period).map {
            Int16((Self.toneAmplitude * sin(Double($0) / Double(period) * 2 * .pi)).rounded())
        }
    }

    /// Returns the sample with this number since 1970.
    func sample(at index: Int64) -> Int16 {
        let rate = Int64(AudioFrame.sampleRate)
        let inSecond = (index % rate + rate) % rate
        if inSecond < ClockRate.opus.ticks(in: ClapperSchedule.length) { return tone[Int(inSecond) % tone.count] }
        return Int16((Self.noise(index) * Self.noiseBound).rounded())
    }

    /// Returns `count` samples per channel from a number on.
    func samples(from index: Int64, count: Int, channels: Int) -> [Int16] {
        var samples: [Int16] = []
        samples.reserveCapacity(count * channels)
        for offset in 0..<Int64(count) {
            let sample = sample(at: index + offset)
            for _ in 0..<channels { samples.append(sample) }
        }
        return samples
    }

    /// Returns a pseudorandom number from -1 to 1 without state: the index, hashed with SplitMix64's finalizer.
    private static func noise(_ index: Int64) -> Double {
        var bits = UInt64(bitPattern: index) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return Double(Int64(bitPattern: bits ^ bits >> 31)) / 0x1p63
    }
}
