import Glibc

/// Reads a line of samples at any place between them and at any pace, which may change from read to read: what brings sound
/// from one clock to another.
///
/// Each sample that is read is a sum of 64 of the line's, weighted by a windowed sinc, so that nothing up to 20 kHz of
/// 48 kHz is changed by more than a tenth of a decibel and what would fold is 80 dB down. (libswresample, which the decoders
/// use, keeps its place in the line to itself, and changes its pace in steps.)
public struct FractionalResampler {
    /// Samples of the line that one read reaches to either side of its place, at a step of one or less.
    private static let reach = 32

    /// Places between two samples for which the weights are kept; between these they are interpolated.
    private static let phases = 512

    /// Of the window (Kaiser): 80 dB of attenuation.
    private static let shape = 8.0

    /// Where the line is cut off, of half its rate: the transition ends at half the rate.
    private static let cutoff = 22.0 / 24

    public let channels: Int

    /// Samples that one read reaches to either side of its place.
    public let reach: Int

    /// The weights of each phase, the last of which is the first, one sample on: `phases + 1` times `2 * reach`.
    private let weights: [Float]

    /// The line, a channel each: the sample at `start` first.
    private var lines: [[Float]]

    /// Where the line that is kept begins.
    private var start: Int64

    /// - Parameters:
    ///   - channels: that are interleaved in what is appended and read; positive.
    ///   - step: the line's samples for one that is read, about; above one the line is filtered so that nothing folds.
    public init(channels: Int, step: Double) {
        precondition(channels > 0 && step > 0 && step <= 16)
        self.channels = channels
        let scale = max(1, step)
        reach = Int((Double(Self.reach) * scale).rounded(.up))
        weights = Self.weights(reach: reach, cutoff: Self.cutoff / scale)
        // What is before the first sample is silence, so that reading may begin there.
        start = -Int64(reach)
        lines = Array(repeating: Array(repeating: 0, count: reach), count: channels)
    }

    /// Where the next sample that is appended stands; the first is at 0.
    public var end: Int64 { start + Int64(lines[0].count) }

    /// The last place that can be read.
    public var lastPlace: Double { Double(end - Int64(reach) - 1) }

    /// Begins a new line, whose first sample is at 0 again.
    public mutating func restart() {
        start = -Int64(reach)
        for channel in 0..<channels { lines[channel] = Array(repeating: 0, count: reach) }
    }

    /// Appends samples to the line, channels interleaved.
    public mutating func append(_ samples: UnsafeBufferPointer<Float>) {
        precondition(samples.count.isMultiple(of: channels))
        for channel in 0..<channels {
            for index in stride(from: channel, to: samples.count, by: channels) {
                lines[channel].append(samples[index])
            }
        }
    }

    /// Reads samples, the first at `place` and each of the others `step` further, channels interleaved. The places must lie
    /// between what was forgotten and `lastPlace`.
    public func read(from place: Double, step: Double, into target: UnsafeMutableBufferPointer<Float>) {
        precondition(target.count.isMultiple(of: channels))
        let count = target.count / channels
        let final = place + step * Double(max(0, count - 1))
        precondition(Int64(place.rounded(.down)) - Int64(reach) + 1 >= start && final <= lastPlace)
        for channel in 0..<channels {
            lines[channel].withUnsafeBufferPointer { line in
                weights.withUnsafeBufferPointer { weights in
                    for index in 0..<count {
                        let value = value(at: place + step * Double(index), in: line, weights)
                        target[index * channels + channel] = value
                    }
                }
            }
        }
    }

    /// Forgets what no read at `place` or later reaches.
    public mutating func forget(before place: Double) {
        let needed = min(Int64(place.rounded(.down)) - Int64(reach), end)
        guard needed > start else { return }
        for channel in 0..<channels { lines[channel].removeFirst(Int(needed - start)) }
        start = needed
    }

    private func value(
        at place: Double, in line: UnsafeBufferPointer<Float>, _ weights: UnsafeBufferPointer<Float>
    ) -> Float {
        let whole = place.rounded(.down)
        let phase = (place - whole) * Double(Self.phases)
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
            // A steady level stays as it is.
            let sum = row.reduce(0, +)
            all += row.map { Float($0 / sum) }
        }
        return all
    }

    private static func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }

    private static func window(_ x: Double) -> Double {
        abs(x) >= 1 ? 0 : bessel(shape * (1 - x * x).squareRoot()) / bessel(shape)
    }

    /// The modified Bessel function of the first kind and order zero, by its series.
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
