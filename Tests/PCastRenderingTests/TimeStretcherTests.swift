import Glibc
import PCastCore
import Testing

@testable import PCastRendering

/// Generated audio, in frames of any length.
private struct Line {
    var samples: [Int16]
    var channels = 1

    static func tone(_ frequency: Double, seconds: Double, channels: Int = 1) -> Line {
        let samples = (0..<Int(seconds * 48_000)).flatMap { index in
            let level = 0.5 * sin(2 * .pi * frequency * Double(index) / 48_000)
            return Array(repeating: Int16((level * 32_767).rounded()), count: channels)
        }
        return Line(samples: samples, channels: channels)
    }

    /// Plays the audio at a rate. Returns the result, and the reported offset of each frame.
    func played(at rate: Double, frameLength: Int = 1_024) -> (line: Line, offsets: [(made: Int, offset: TimeSpan)]) {
        var tempo = TimeStretcher(channels: channels, rate: rate)
        var made: [Int16] = []
        var offsets: [(made: Int, offset: TimeSpan)] = []
        func read() {
            while let (audio, offset) = tempo.read() {
                offsets.append((made.count / channels, offset))
                made += audio.samples
            }
        }
        for start in stride(from: 0, to: samples.count, by: frameLength * channels) {
            let part = Array(samples[start..<min(samples.count, start + frameLength * channels)])
            tempo.append(
                AudioFrame(
                    samples: part, channels: channels, captureTime: nil,
                    timestamp: MediaTime(ticks: Int64(start / channels), rate: .opus)))
            read()
        }
        tempo.finish()
        read()
        return (Line(samples: made, channels: channels), offsets)
    }

    /// Returns the share of the energy of a section at a frequency, and the amplitude there.
    func strength(at frequency: Double, from start: Int, count: Int) -> (share: Double, height: Double) {
        var (real, imaginary, energy, weights, squares) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for index in 0..<count {
            let weight = 0.5 - 0.5 * cos(2 * .pi * (Double(index) + 0.5) / Double(count))
            let sample = Double(samples[(start + index) * channels]) / 32_768 * weight
            let angle = 2 * .pi * frequency * Double(index) / 48_000
            real += sample * cos(angle)
            imaginary += sample * sin(angle)
            energy += sample * sample
            weights += weight
            squares += weight * weight
        }
        let power = real * real + imaginary * imaginary
        return (energy > 0 ? 2 * power / (weights * weights) * squares / energy : 0, 2 * power.squareRoot() / weights)
    }
}

@Suite("Changes of the speed keep the pitch")
struct TimeStretcherTests {
    static let rates = [0.25, 0.5, 0.8, 1.1, 1.25, 1.5, 2, 3, 4]

    @Test("the duration is exact to the sample, for all frame lengths", arguments: rates, [160, 1_024, 5_000])
    func length(_ rate: Double, _ frameLength: Int) {
        let (line, offsets) = Line.tone(300, seconds: 2.013).played(at: rate, frameLength: frameLength)
        #expect(abs(Double(line.samples.count) - 2.013 * 48_000 / rate) <= 1)
        for (made, offset) in offsets {
            #expect(abs(Double(made) / 48_000 * rate - offset.seconds) < 0.000_1)
        }
    }

    @Test("tones keep their pitch and amplitude", arguments: rates, [82.4, 220, 440, 1_000, 3_137, 7_900])
    func pitch(_ rate: Double, _ frequency: Double) {
        let (line, _) = Line.tone(frequency, seconds: 3).played(at: rate)
        let count = 4_800
        for start in stride(from: 2_000, to: line.samples.count - count - 2_000, by: count) {
            let (share, height) = line.strength(at: frequency, from: start, count: count)
            #expect(share > 0.98, "\(share) of the energy at \(frequency) Hz")
            #expect(abs(height - 0.5) < 0.03)
        }
    }

    @Test("two channels stay together, and one is played on both")
    func channels() {
        var line = Line.tone(440, seconds: 1, channels: 2)
        for index in stride(from: 1, to: line.samples.count, by: 2) { line.samples[index] = -line.samples[index] / 2 }
        // One channel is the other's half with the opposite sign. The search uses their sum.
        let (made, _) = line.played(at: 1.7)
        for index in stride(from: 0, to: made.samples.count, by: 2) {
            #expect(abs(Int(made.samples[index]) + 2 * Int(made.samples[index + 1])) <= 3)
        }
    }

    @Test("a tone is audible at its offset, within some milliseconds", arguments: rates)
    func moments(_ rate: Double) {
        // A tone of 200 ms starts every half second.
        var line = Line.tone(700, seconds: 4)
        for index in line.samples.indices where index % 24_000 >= 9_600 { line.samples[index] = 0 }
        let (made, _) = line.played(at: rate)
        var onsets: [Double] = []
        var quiet = 0
        for (index, sample) in made.samples.enumerated() {
            if abs(Int(sample)) > 6_000 {
                if quiet > 960 { onsets.append(Double(index) / 48_000 * rate) }
                quiet = 0
            } else {
                quiet += 1
            }
        }
        #expect(onsets.count == 7)
        for (onset, wanted) in zip(onsets, stride(from: 0.5, to: 4, by: 0.5)) {
            #expect(abs(onset - wanted) / max(rate, 1) < 0.02, "\(onset) for \(wanted)")
        }
    }

    @Test("silence, noise and a click neither trap nor grow")
    func odd() {
        var generator: UInt64 = 1
        let noise = (0..<96_000).map { _ -> Int16 in
            generator = generator &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int16(truncatingIfNeeded: Int64(bitPattern: generator >> 49)) / 4
        }
        let energy = { (line: [Int16]) in line.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(line.count) }
        for rate in Self.rates {
            let (made, _) = Line(samples: noise).played(at: rate)
            #expect(energy(made.samples) < energy(noise) * 1.1 && energy(made.samples) > energy(noise) * 0.4)
            var click = [Int16](repeating: 0, count: 48_000)
            click[20_000] = 32_767
            #expect(Line(samples: click).played(at: rate).line.samples.count == Int((48_000 / rate).rounded(.up)))
            #expect(Line(samples: []).played(at: rate).line.samples.isEmpty)
            #expect(Line(samples: [5, 6, 7]).played(at: rate).line.samples.count == Int((3 / rate).rounded(.up)))
        }
    }
}
