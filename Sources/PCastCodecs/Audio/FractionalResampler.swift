import Glibc

/// A resampler that reads at fractional positions and at a step that may change with each read. It converts audio from
/// one clock to another.
///
/// Each output sample is a sum of 64 input samples, weighted by a windowed sinc. At 48 kHz, the response up to 20 kHz
/// is flat within 0.1 dB, and aliases are 80 dB down. libswresample, which the decoders use, hides its position and
/// changes its rate in steps.
package struct FractionalResampler {
    /// The number of input samples on either side of the position that one read uses, for a step of at most one.
    private static let reach = 32

    /// The number of fractional positions with precomputed weights. Positions between them are interpolated.
    private static let phases = 512

    /// The shape parameter of the Kaiser window, for 80 dB of attenuation.
    private static let shape = 8.0

    /// The cutoff frequency as a fraction of half the sample rate. The transition band ends at half the rate.
    private static let cutoff = 22.0 / 24

    /// The number of interleaved channels.
    package let channels: Int

    /// The number of input samples on either side of the position that one read uses.
    package let reach: Int

    /// The filter weights: `phases + 1` rows of `2 * reach`. The last row is the first one, shifted by one sample.
    private let weights: [Float]

    /// The buffered input of each channel. The first element is the sample at `start`.
    private var lines: [[Float]]

    /// The position of the first buffered sample.
    private var start: Int64

    /// Creates a resampler.
    ///
    /// - Parameters:
    ///   - channels: The number of interleaved channels; at least 1.
    ///   - step: The approximate number of input samples per output sample, greater than 0 and at most 16. Above 1, the
    ///     input is filtered against aliasing.
    package init(channels: Int, step: Double) {
        precondition(channels > 0 && step > 0 && step <= 16)
        self.channels = channels
        let scale = max(1, step)
        reach = Int((Double(Self.reach) * scale).rounded(.up))
        weights = Self.weights(reach: reach, cutoff: Self.cutoff / scale)
        // Silence precedes the first sample, so that reading may start at position 0.
        start = -Int64(reach)
        lines = Array(repeating: Array(repeating: 0, count: reach), count: channels)
    }

    /// The position of the next sample that is appended. The first sample has position 0.
    package var end: Int64 { start + Int64(lines[0].count) }

    /// The last position that can be read.
    package var lastPosition: Double { Double(end - Int64(reach) - 1) }

    /// Discards the input. The next sample has position 0 again.
    package mutating func restart() {
        start = -Int64(reach)
        for channel in 0..<channels { lines[channel] = Array(repeating: 0, count: reach) }
    }

    /// Appends interleaved samples.
    package mutating func append(_ samples: UnsafeBufferPointer<Float>) {
        precondition(samples.count.isMultiple(of: channels))
        for channel in 0..<channels {
            for index in stride(from: channel, to: samples.count, by: channels) {
                lines[channel].append(samples[index])
            }
        }
    }

    /// Reads interleaved samples, the first at `position` and each next one `step` further. All positions must be at most
    /// `lastPosition` and must not be discarded by `discard(before:)`.
    package func read(from position: Double, step: Double, into target: UnsafeMutableBufferPointer<Float>) {
        precondition(target.count.isMultiple(of: channels))
        let count = target.count / channels
        let final = position + step * Double(max(0, count - 1))
        precondition(Int64(position.rounded(.down)) - Int64(reach) + 1 >= start && final <= lastPosition)
        for channel in 0..<channels {
            lines[channel].withUnsafeBufferPointer { line in
                weights.withUnsafeBufferPointer { weights in
                    for index in 0..<count {
                        let value = value(at: position + step * Double(index), in: line, weights)
                        target[index * channels + channel] = value
                    }
                }
            }
        }
    }

    /// Discards the input that no read at `position` or later uses.
    package mutating func discard(before position: Double) {
        let needed = min(Int64(position.rounded(.down)) - Int64(reach), end)
        guard needed > start else { return }
        for channel in 0..<channels { lines[channel].removeFirst(Int(needed - start)) }
        start = needed
    }

    private func value(
        at position: Double, in line: UnsafeBufferPointer<Float>, _ weights: UnsafeBufferPointer<Float>
    ) -> Float {
        let whole = position.rounded(.down)
        let phase = (position - whole) * Double(Self.phases)
        let lower = Int(phase)
        let samples = line.baseAddress! + Int(Int64(whole) - start) - reach + 1
        let first = weights.baseAddress! + lower * 2 * reach
        let (near, far) = (sum(samples, first), sum(samples, first + 2 * reach))
        return near + Float(phase - Double(lower)) * (far - near)
    }

    private func sum(_ samples: UnsafePointer<Float>, _ weights: UnsafePointer<Float>) -> Float {
        var total = SIMD8<Float>.zero
        var index = 0
        while index + 8 <= 2 * reach {
            let left = UnsafeRawPointer(samples + index).loadUnaligned(as: SIMD8<Float>.self)
            let right = UnsafeRawPointer(weights + index).loadUnaligned(as: SIMD8<Float>.self)
            total += left * right
            index += 8
        }
        var result = total.sum()
        while index < 2 * reach {
            result += samples[index] * weights[index]
            index += 1
        }
        return result
    }

    private static func weights(reach: Int, cutoff: Double) -> [Float] {
        var all: [Float] = []
        all.reserveCapacity((phases + 1) * 2 * reach)
        for phase in 0...phases {
            let fraction = Double(phase) / Double(phases)
            let row = (1 - reach...reach).map { tap -> Double in
                let distance = Double(tap) - fraction
                return cutoff * sinc(cutoff * distance) * window(distance / Double(reach))
            }
            // Normalizes the sum of the weights to one, so that a constant level does not change.
            let sum = row.reduce(0, +)
            all += row.map { Float($0 / sum) }
        }
        return all
    }

    private static func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }

    private static func window(_ x: Double) -> Double {
        abs(x) >= 1 ? 0 : bessel(shape * (1 - x * x).squareRoot()) / bessel(shape)
    }

    /// Returns the modified Bessel function of the first kind and order zero, computed from its power series.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term, index) = (1.0, 1.0, 1.0)
        while term > sum * 1e-12 {
            term *= (x / 2 / index) * (x / 2 / index)
            sum += term
            index += 1
        }
        return sum
    }
}
