import Foundation
import Glibc
import PCastCodecs
import PCastIO
import PCastTestSupport

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

/// A generator of the same numbers for the same seed, on every machine.
struct SeededRandom: RandomNumberGenerator {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15) }

    mutating func next() -> UInt64 { generator.next() }

    /// Returns a number from 0 to 1.
    mutating func uniform() -> Double { Double(next() >> 11) / Double(1 << 53) }

    mutating func uniform(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + uniform() * (range.upperBound - range.lowerBound)
    }

    /// Returns a normally distributed value (Box and Muller).
    mutating func normal() -> Double { (-2 * log(1 - uniform())).squareRoot() * cos(2 * .pi * uniform()) }
}

/// A voice of flite, a small speech synthesizer that combines recorded speech.
struct RealVoice {
    private static let program = "/usr/bin/flite"

    private static let text = """
        The harbour was quiet in the morning, and the boats lay on the water as if they had been painted there. A \
        man came down the steps with a basket, put it on the stones, and looked at the sky for a long while. It \
        would be warm, he said, and there would be wind in the afternoon. Then he took the oars. Nobody had told him \
        about the letter, which lay on the kitchen table next to the bread, and which would change all of their \
        plans for that summer. Could you please tell me when the next train to the mountains is leaving? That \
        depends on the weather, answered the woman behind the window, because the bridge is closed whenever the \
        river rises above the second mark.
        """

    let name: String

    /// Returns nil if flite is not installed.
    init?(_ name: String) {
        guard FileManager.default.isExecutableFile(atPath: Self.program) else { return nil }
        self.name = name
    }

    /// Returns samples at 48 kHz with a root mean square of `level`.
    func speak(seconds: Double, level: Double = 3_000) throws -> [Double] {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).wav")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try FinishedProcess(
            running: Self.program, ["-voice", name, "-t", Self.text, "-o", file.path], environment: [:])
        let speech = try Self.samples(ofWave: Data(contentsOf: file))
        let count = Int(seconds * 48_000)
        let line = (0..<count).map { speech[$0 % speech.count] }
        let scale = level / power(line).squareRoot()
        return line.map { $0 * scale }
    }

    /// Reads a mono file of 16 bits as flite writes it: a header of 44 bytes with the rate at byte 24.
    private static func samples(ofWave data: Data) throws -> [Double] {
        let bytes = [UInt8](data)
        let rate = Int(bytes[24]) | Int(bytes[25]) << 8
        var line = FractionalResampler(channels: 1, step: Double(rate) / 48_000)
        let samples = stride(from: 44, to: bytes.count - 1, by: 2).map {
            Float(Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8))
        }
        (samples + [Float](repeating: 0, count: 100)).withUnsafeBufferPointer { line.append($0) }
        var result = [Float](repeating: 0, count: samples.count * 48_000 / rate)
        result.withUnsafeMutableBufferPointer { line.read(from: 0, step: Double(rate) / 48_000, into: $0) }
        return result.map { Double($0) }
    }
}
