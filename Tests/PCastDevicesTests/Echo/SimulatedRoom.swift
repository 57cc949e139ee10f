import Glibc
import PCastCodecs
import PCastCore

@testable import PCastDevices
@testable import PCastIO

/// A room with an audio output, a microphone and a speaker. It computes the microphone's samples.
struct SimulatedRoom {
    /// The seed of the random response.
    var seed: UInt64

    /// The attenuation of the echo relative to the played audio, in decibels.
    var echo = -6.0

    /// The delay of the devices in seconds.
    var delay = 0.04

    /// The amount by which the microphone's clock is slow, in parts per million.
    var drift = 50.0

    /// The noise of the microphone, root mean square: -70 dB of full scale.
    var noise = 10.0

    /// The decay of the response at its end, after 120 ms, in decibels.
    var decay = 60.0

    static let length = 0.12

    /// Returns the echo of played audio at the microphone.
    func echo(of played: [Double]) -> [Double] {
        let response = Convolution(response())
        var echo = response.apply(to: played)
        let scale = pow(10, echo.count == 0 ? 0 : self.echo / 20) * (power(played) / power(echo)).squareRoot()
        for index in echo.indices { echo[index] *= scale }
        let delayed = [Double](repeating: 0, count: Int(delay * 48_000)) + echo
        return resampled(delayed, count: played.count)
    }

    /// Returns the sum of the echo, the near speech and the microphone's noise, as 16 bits.
    func hear(echo: [Double], speech: [Double]) -> [Int16] {
        var random = SeededRandom(seed: seed &+ 77)
        return echo.indices.map { index in
            let sample = echo[index] + (index < speech.count ? speech[index] : 0) + noise * random.normal()
            return Int16(max(-32_768, min(32_767, sample.rounded())))
        }
    }

    private func response() -> [Double] {
        var random = SeededRandom(seed: seed)
        let count = Int(Self.length * 48_000)
        return (0..<count).map { index in
            let fallen = pow(10, -decay / 20 * Double(index) / Double(count))
            return index == 0 ? 4 : random.normal() * fallen
        }
    }

    /// Returns the audio at the rate of the microphone's clock.
    private func resampled(_ audio: [Double], count: Int) -> [Double] {
        if drift == 0 { return Array(audio[..<count]) }
        var line = FractionalResampler(channels: 1, step: 1)
        let tail = [Float](repeating: 0, count: count / 100 + 200)
        (audio.map { Float($0) } + tail).withUnsafeBufferPointer { line.append($0) }
        var result = [Float](repeating: 0, count: count)
        result.withUnsafeMutableBufferPointer { line.read(from: 0, step: 1 + drift * 1e-6, into: $0) }
        return result.map { Double($0) }
    }
}

func power(_ audio: some Collection<Double>) -> Double {
    audio.reduce(1e-12) { $0 + $1 * $1 } / Double(max(1, audio.count))
}

/// A long filter that is applied in blocks, by its spectrum.
private struct Convolution {
    private let transform = RealTransform(length: 16_384)
    private let response = Spectrum(count: 8_192)
    private let length: Int

    init(_ taps: [Double]) {
        length = taps.count
        let samples = VectorBuffer(count: 16_384)
        for (index, tap) in taps.enumerated() { samples.floats[index] = Float(tap) }
        transform.forward(samples.floats, into: response)
    }

    func apply(to audio: [Double]) -> [Double] {
        var result = [Double](repeating: 0, count: audio.count)
        let piece = 16_384 - length
        let samples = VectorBuffer(count: 16_384)
        let spectrum = Spectrum(count: 8_192)
        for start in stride(from: 0, to: audio.count, by: piece) {
            samples.fill(0)
            for index in 0..<min(piece, audio.count - start) { samples.floats[index] = Float(audio[start + index]) }
            transform.forward(samples.floats, into: spectrum)
            for bin in 0..<8_192 {
                let (real, imaginary) = (spectrum.realFloats[bin], spectrum.imaginaryFloats[bin])
                let (c, s) = (response.realFloats[bin], response.imaginaryFloats[bin])
                spectrum.realFloats[bin] = real * c - imaginary * s
                spectrum.imaginaryFloats[bin] = real * s + imaginary * c
            }
            transform.inverse(spectrum, into: samples.floats)
            for index in 0..<min(16_384, audio.count - start) { result[start + index] += Double(samples.floats[index]) }
        }
        return result
    }
}
