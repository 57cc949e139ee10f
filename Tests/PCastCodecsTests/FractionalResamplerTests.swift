import Foundation
import PCastCodecs
import Testing

@Suite("Resampling between samples")
struct FractionalResamplerTests {
    private func tone(_ frequency: Double, rate: Double, count: Int, channels: Int = 1) -> [Float] {
        (0..<count).flatMap { index in
            (0..<channels).map { channel in
                Float(sin(2 * .pi * frequency * Double(index) / rate) / Double(channel + 1))
            }
        }
    }

    private func append(_ samples: [Float], to resampler: inout FractionalResampler) {
        samples.withUnsafeBufferPointer { resampler.append($0) }
    }

    private func read(
        _ resampler: FractionalResampler, from place: Double, step: Double, count: Int
    ) -> [Float] {
        var result = [Float](repeating: 0, count: count * resampler.channels)
        result.withUnsafeMutableBufferPointer { resampler.read(from: place, step: step, into: $0) }
        return result
    }

    /// Returns everything but the tone, in decibels below full scale.
    private func error(of samples: [Float], against frequency: Double, rate: Double, place: Double, step: Double)
        -> Double
    {
        var power = 0.0
        for (index, sample) in samples.enumerated() {
            let time = (place + step * Double(index)) / rate
            let difference = Double(sample) - sin(2 * .pi * frequency * time)
            power += difference * difference
        }
        return 10 * log10(power / Double(samples.count) + 1e-20)
    }

    @Test(
        "a tone stays a tone from the rate of any hardware",
        arguments: [8_000.0, 16_000, 44_100, 48_000, 96_000, 192_000], [0.99985, 1, 1.0002])
    func rates(_ rate: Double, _ bend: Double) {
        let step = rate / 48_000 * bend
        for frequency in [100.0, 1_000, 3_300] {
            var resampler = FractionalResampler(channels: 1, step: step)
            append(tone(frequency, rate: rate, count: Int(rate / 4)), to: &resampler)
            let place = Double(resampler.reach) + 0.377
            let count = Int((resampler.lastPosition - place) / step)
            let samples = read(resampler, from: place, step: step, count: count)
            let error = error(of: samples, against: frequency, rate: rate, place: place, step: step)
            #expect(error < -75, "\(frequency) Hz at \(rate) Hz: \(error) dB")
        }
    }

    @Test("up to 20 kHz nothing is lost, and aliasing is filtered")
    func band() {
        func level(_ frequency: Double, rate: Double) -> Double {
            let step = rate / 48_000
            var resampler = FractionalResampler(channels: 1, step: step)
            append(tone(frequency, rate: rate, count: Int(rate / 4)), to: &resampler)
            let place = Double(resampler.reach) * 2
            let samples = read(
                resampler, from: place, step: step, count: Int((resampler.lastPosition - place) / step))
            let power = samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)
            return 10 * log10(power * 2 + 1e-20)
        }
        #expect(abs(level(20_000, rate: 48_000)) < 0.1)
        #expect(abs(level(20_000, rate: 96_000)) < 0.1)
        #expect(level(28_500, rate: 96_000) < -75)
        #expect(level(60_000, rate: 192_000) < -75)
    }

    @Test("channels stay separate and in order")
    func channels() {
        var resampler = FractionalResampler(channels: 2, step: 1)
        append(tone(1_000, rate: 48_000, count: 4_800, channels: 2), to: &resampler)
        let samples = read(resampler, from: 100.5, step: 1, count: 1_000)
        for index in 0..<1_000 { #expect(abs(samples[2 * index] / 2 - samples[2 * index + 1]) < 1e-4) }
        #expect(abs(Double(samples[0]) - sin(2 * .pi * 100.5 / 48)) < 1e-3)
    }

    @Test("reading in parts, without the past samples, equals reading at once")
    func pieces() {
        let audio = tone(700, rate: 44_100, count: 20_000)
        let step = 44_100.0 / 48_000
        var whole = FractionalResampler(channels: 1, step: step)
        append(audio, to: &whole)
        let expected = read(whole, from: 0, step: step, count: 10_000)
        var resampler = FractionalResampler(channels: 1, step: step)
        var result: [Float] = []
        var place = 0.0
        for start in stride(from: 0, to: audio.count, by: 441) {
            append(Array(audio[start..<min(start + 441, audio.count)]), to: &resampler)
            while place + step * 99 <= resampler.lastPosition {
                result += read(resampler, from: place, step: step, count: 100)
                place += step * 100
                resampler.discard(before: place)
            }
        }
        #expect(result.count >= 10_000)
        for index in 0..<10_000 { #expect(abs(result[index] - expected[index]) < 1e-4) }
    }

    @Test("a constant level stays constant, and a new line starts with silence before it")
    func level() {
        var resampler = FractionalResampler(channels: 1, step: 1.1)
        append(Array(repeating: 0.5, count: 1_000), to: &resampler)
        for sample in read(resampler, from: 200.3, step: 1.1, count: 500) { #expect(abs(sample - 0.5) < 1e-5) }
        resampler.restart()
        append(Array(repeating: 0, count: 200), to: &resampler)
        #expect(read(resampler, from: 0, step: 1.1, count: 80).allSatisfy { $0 == 0 })
    }
}
