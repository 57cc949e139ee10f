import Glibc

/// Measures the difference between the clocks of the microphone and the audio output from the audio itself.
///
/// While the clocks differ, an older echo path predicts the echo slightly too early or too late. The phase between the
/// prediction and the captured audio grows with the frequency and gives the time difference. A proportional-integral
/// controller changes the rate at which the reference is read until there is none left.
final class DriftTracker {
    /// The time constant, in seconds, by which the compared path lags.
    private static let age: Float = 0.3

    /// The time constant, in seconds, of the phase averages.
    private static let memory: Float = 0.15

    /// The gains of the controller, in 1/s and 1/s². It settles within about a second.
    private static let proportional: Float = 4
    private static let integral: Float = 8

    /// The largest plausible clock difference.
    private static let limit: Float = 1e-3

    /// The weight of phases that noise alone produces.
    private static let noiseWeight: Float = 2e8

    /// The frequency band. Higher frequencies rotate too far between two blocks, and lower ones contain little
    /// information.
    private static let band = EchoBlock.bin(hertz: 150)..<EchoBlock.bin(hertz: 4_000)

    /// The relative rate by which the reference must be read faster than the microphone.
    private(set) var pace: Float = 0

    private let transform: RealTransform
    private let path = EchoPath()
    private let expected = Spectrum(count: EchoBlock.binCount)
    private let captured = Spectrum(count: EchoBlock.binCount)
    private let coherence = Coherence(memory: exp(-1 / (DriftTracker.memory * EchoBlock.rate)))
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    /// The integral part of the rate.
    private(set) var drift: Float = 0
    private var group = 0

    init(transform: RealTransform) { self.transform = transform }

    /// Restarts after the path was reset or the reference was moved. The clock difference is kept.
    func restart() {
        path.clear()
        coherence.clear()
        pace = drift
    }

    /// Adds a captured block and the path that was learned from it.
    func observe(_ block: VectorBuffer, learnt: EchoPath, far: FarEnd) {
        path.apply(to: far, into: expected)
        transform.inverse(expected, into: samples.floats)
        let start = EchoBlock.transformLength - EchoBlock.sampleCount
        samples.floats.update(repeating: 0, count: start)
        transform.forward(samples.floats, into: expected)
        (samples.floats + start).update(from: block.floats, count: EchoBlock.sampleCount)
        transform.forward(samples.floats, into: captured)
        coherence.observe(captured, expected)
        // A quarter of the partitions per block, right after they have been constrained.
        group = (group + 1) % 4
        let share = min(1, 4 / (Self.age * EchoBlock.rate))
        for part in stride(from: group, to: EchoBlock.partCount, by: 4) {
            path.follow(learnt, part: part, share: share)
        }
        let late = lateness()
        drift = max(-Self.limit, min(Self.limit, drift - Self.integral * late / EchoBlock.rate))
        pace = max(-Self.limit, min(Self.limit, drift - Self.proportional * late))
    }

    /// Returns the time, in seconds, by which the echo is later than predicted: the slope of the phase over frequency,
    /// weighted by its reliability.
    private func lateness() -> Float {
        var (sum, weights) = (Float(0), Self.noiseWeight)
        for bin in Self.band {
            let (real, imaginary) = (coherence.cross.realFloats[bin], coherence.cross.imaginaryFloats[bin])
            let power = coherence.power.floats[bin] * coherence.otherPower.floats[bin] + 1e4
            let similarity = min((real * real + imaginary * imaginary) / power, 0.98)
            let weight = similarity / (1 - similarity)
            let frequency = Float(bin) * EchoBlock.binWidth
            sum -= weight * frequency * atan2f(imaginary, real)
            weights += weight * frequency * frequency
        }
        return sum / (2 * .pi * weights)
    }
}
