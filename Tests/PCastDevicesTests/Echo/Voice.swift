import Glibc

/// Audio that resembles speech, from a seed. It has voiced audio with a changing pitch and changing formants,
/// fricatives and stops. Words and sentences have pauses between them.
struct Voice {
    /// The approximate pitch of the voice in hertz.
    var pitch: Double

    /// The size of the formants relative to a man's.
    var size: Double
    var seed: UInt64

    static func man(_ seed: UInt64) -> Voice { Voice(pitch: 110, size: 1, seed: seed) }
    static func woman(_ seed: UInt64) -> Voice { Voice(pitch: 210, size: 1.17, seed: seed) }

    /// The first three formants of vowels, in hertz (G. E. Peterson and H. L. Barney, 1952).
    private static let vowels: [[Double]] = [
        [270, 2_290, 3_010], [390, 1_990, 2_550], [530, 1_840, 2_480], [660, 1_720, 2_410], [730, 1_090, 2_440],
        [570, 840, 2_410], [440, 1_020, 2_240], [300, 870, 2_240], [640, 1_190, 2_390], [490, 1_350, 1_690],
    ]

    private static let rate = 48_000.0

    /// Returns samples at 48 kHz with a root mean square of `level`.
    func speak(seconds: Double, level: Double = 3_000) -> [Double] {
        var random = SeededRandom(seed: seed)
        var speech: [Double] = []
        let count = Int(seconds * Self.rate)
        speech.reserveCapacity(count + 48_000)
        var formants = Self.vowels[0]
        var audioFrames = 0
        while speech.count < count {
            audioFrames += 1
            if audioFrames.isMultiple(of: 23) {
                speech += silence(random.uniform(0.35...0.7))
            } else if random.uniform() < 0.16 {
                speech += silence(random.uniform(0.05...0.18))
            } else if random.uniform() < 0.2 {
                speech += hiss(random.uniform(0.05...0.13), &random)
            } else {
                let next = Self.vowels[Int(random.next() % UInt64(Self.vowels.count))]
                speech += vowel(random.uniform(0.08...0.24), from: formants, to: next, at: speech.count, &random)
                formants = next
            }
        }
        speech.removeLast(speech.count - count)
        let power = speech.reduce(0) { $0 + $1 * $1 } / Double(count)
        let scale = level / power.squareRoot()
        return speech.map { $0 * scale }
    }

    private func silence(_ seconds: Double) -> [Double] { Array(repeating: 0, count: Int(seconds * Self.rate)) }

    private func vowel(
        _ seconds: Double, from: [Double], to: [Double], at start: Int, _ random: inout SeededRandom
    ) -> [Double] {
        let count = Int(seconds * Self.rate)
        var filters = [Resonator(), Resonator(), Resonator(), Resonator()]
        var (phase, flow, loudness) = (1.0, 0.0, random.uniform(0.5...1))
        let bend = random.uniform(-0.15...0.15)
        return (0..<count).map { index in
            let share = Double(index) / Double(count)
            let time = Double(start + index) / Self.rate
            let melody = 1 + 0.12 * sin(2 * .pi * 0.37 * time) + bend * share
            phase += pitch * melody / Self.rate
            var pulse = 0.0
            if phase >= 1 {
                // The period varies slightly, as in a real voice.
                phase -= 1 + random.uniform(-0.01...0.01)
                pulse = 1
                loudness *= random.uniform(0.96...1.04)
            }
            flow = 0.97 * flow + pulse
            let source = flow - 0.5 + 0.02 * random.normal()
            var audio = 0.0
            for formant in 0..<4 {
                let frequency = formant < 3 ? from[formant] + (to[formant] - from[formant]) * min(1, 2 * share) : 3_500
                let width = 60 + frequency * 0.04
                audio += filters[formant].filter(source, frequency: frequency * size, width: width, rate: Self.rate)
            }
            return audio * loudness * envelope(index, of: count)
        }
    }

    private func hiss(_ seconds: Double, _ random: inout SeededRandom) -> [Double] {
        let count = Int(seconds * Self.rate)
        let frequency = random.uniform(2_500...6_500) * size
        let loudness = random.uniform(0.05...0.3)
        var filter = Resonator()
        return (0..<count).map { index in
            let noise = filter.filter(random.normal(), frequency: frequency, width: 1_800, rate: Self.rate)
            return noise * loudness * envelope(index, of: count)
        }
    }

    private func envelope(_ index: Int, of count: Int) -> Double {
        min(1, Double(index) / 700, Double(count - index) / 900)
    }
}

/// A resonance of second order with a gain of about one at its peak.
private struct Resonator {
    private var first = 0.0
    private var second = 0.0

    mutating func filter(_ sample: Double, frequency: Double, width: Double, rate: Double) -> Double {
        let radius = exp(-.pi * width / rate)
        let angle = 2 * .pi * frequency / rate
        let result = (1 - radius) * sample + 2 * radius * cos(angle) * first - radius * radius * second
        second = first
        first = result
        return result
    }
}
