import Glibc

/// How much faster the microphone's clock runs than the loudspeakers', told from the sound itself.
///
/// While the clocks differ, a path that was learnt a moment ago foretells the echo a little late or early. By how much
/// is in the phase between its echo and what is heard: it grows with the frequency. A loop of proportional and integral
/// gain turns the difference into a pace at which the reference is read, until there is none left.
final class DriftTracker {
    /// How old the path is with which it compares, in seconds, as a time constant.
    private static let age: Float = 0.3

    /// Over how long phases are averaged, in seconds.
    private static let memory: Float = 0.15

    /// Of the loop, in 1/s and 1/s²: it settles within about a second.
    private static let proportional: Float = 4
    private static let integral: Float = 8

    /// Clocks that differ by more are not clocks.
    private static let limit: Float = 1e-3

    /// So much weight of phases is none: what noise has by chance.
    private static let doubt: Float = 2e8

    /// Higher frequencies turn too far between two looks, lower ones tell little.
    private static let band = EchoBlock.bin(hertz: 150)..<EchoBlock.bin(hertz: 4_000)

    /// The reference is to be read this much faster than the microphone, relative.
    private(set) var pace: Float = 0

    private let transform: RealTransform
    private let path = EchoPath()
    private let expected = Spectrum(count: EchoBlock.binCount)
    private let heard = Spectrum(count: EchoBlock.binCount)
    private let coherence = Coherence(memory: exp(-1 / (DriftTracker.memory * EchoBlock.rate)))
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    /// The lasting part of it.
    private(set) var drift: Float = 0
    private var turn = 0

    init(transform: RealTransform) { self.transform = transform }

    /// The path was forgotten, or the reference is read elsewhere; what is known of the clocks stays.
    func restart() {
        path.clear()
        coherence.clear()
        pace = drift
    }

    /// Looks at a block that was heard, and at the path that was learnt from it.
    func observe(_ block: VectorBuffer, learnt: EchoPath, far: FarEnd) {
        path.apply(to: far, into: expected)
        transform.inverse(expected, into: samples.floats)
        let start = EchoBlock.transformLength - EchoBlock.sampleCount
        samples.floats.update(repeating: 0, count: start)
        transform.forward(samples.floats, into: expected)
        (samples.floats + start).update(from: block.floats, count: EchoBlock.sampleCount)
        transform.forward(samples.floats, into: heard)
        coherence.observe(heard, expected)
        // A quarter of the parts with each block, as they are when they have been constrained.
        turn = (turn + 1) % 4
        let share = min(1, 4 / (Self.age * EchoBlock.rate))
        for part in stride(from: turn, to: EchoBlock.partCount, by: 4) { path.follow(learnt, part: part, share: share) }
        let late = lateness()
        drift = max(-Self.limit, min(Self.limit, drift - Self.integral * late / EchoBlock.rate))
        pace = max(-Self.limit, min(Self.limit, drift - Self.proportional * late))
    }

    /// In seconds, by which the echo is heard later than expected: the slope of the phase, each frequency weighed by
    /// how sure its phase is.
    private func lateness() -> Float {
        var (sum, weights) = (Float(0), Self.doubt)
        for bin in Self.band {
            let (real, imaginary) = (coherence.cross.realFloats[bin], coherence.cross.imaginaryFloats[bin])
            let power = coherence.power.floats[bin] * coherence.otherPower.floats[bin] + 1e4
            let likeness = min((real * real + imaginary * imaginary) / power, 0.98)
            let weight = likeness / (1 - likeness)
            let frequency = Float(bin) * EchoBlock.binWidth
            sum -= weight * frequency * atan2f(imaginary, real)
            weights += weight * frequency * frequency
        }
        return sum / (2 * .pi * weights)
    }
}
