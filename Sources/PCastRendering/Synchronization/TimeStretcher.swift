internal import Glibc
package import PCastCore

/// Changes the speed of audio and keeps its pitch. Overlapping pieces are each taken from where they best continue the
/// previous one (waveform similarity overlap-add; Verhelst and Roelands, ICASSP 1993).
///
/// A piece is 30 ms long, and half of it crossfades with the previous one. The search covers 12 ms to either side of
/// its nominal position, a whole period of everything above 42 Hz. It first uses audio at a quarter of the rate, then
/// single samples.
package struct TimeStretcher: Sendable {
    /// The number of samples that are produced at once: 15 ms, half a piece.
    package static let hop = 720

    private static let reach = 576
    private static let coarseness = 4
    /// The mean square difference that counts as equal, so that silence continues with silence.
    private static let silence: Float = 40 * 40
    /// The similarity penalty at the ends of the search range, which prefers the nearest of several equal matches.
    private static let distancePenalty: Float = 0.02
    private static let fade: [Float] = (0..<hop).map { Float(0.5 - 0.5 * cos(.pi * (Double($0) + 0.5) / Double(hop))) }

    /// The number of channels of the output.
    package let channels: Int
    /// The speed factor. A change applies from the next piece on.
    package var rate: Double

    // The input from `start` on, which is a multiple of the coarseness: interleaved, mixed to mono, and at a quarter of
    // the rate.
    private var start = 0
    private var samples: [Float] = []
    private var mono: [Float] = []
    private var coarse: [Float] = []

    /// The nominal position of the next piece in the input.
    private var nextPosition = 0.0
    /// The position that continues the last piece; nil before the first.
    private var continuation: Int?
    /// The end of the input; nil while it is unknown.
    private var last: Int?

    /// Creates a converter.
    ///
    /// - Parameters:
    ///   - channels: The number of output channels, 1 or 2.
    ///   - rate: The speed factor, greater than 0.
    package init(channels: Int, rate: Double) {
        precondition((channels == 1 || channels == 2) && rate > 0)
        (self.channels, self.rate) = (channels, rate)
    }

    private var end: Int { start + mono.count }

    /// Adds audio that follows the previous one.
    package mutating func append(_ audio: AudioFrame) {
        guard last == nil else { return }
        for index in 0..<audio.sampleCount {
            var sum: Float = 0
            for channel in 0..<channels {
                let sample = Float(audio.samples[index * audio.channels + channel % audio.channels])
                samples.append(sample)
                sum += sample
            }
            mono.append(sum / Float(channels))
        }
        refine()
    }

    /// Marks the end of the input, so that it can be read completely.
    package mutating func finish() {
        guard last == nil else { return }
        last = end
        let padding = Self.hop * 2 + Self.reach + Int(Double(Self.hop) * max(0, rate - 1)) + 1
        samples += Array(repeating: 0, count: padding * channels)
        mono += Array(repeating: 0, count: padding)
        refine()
    }

    /// Returns the next 15 ms or the rest at the end, and its position relative to the first input sample. Returns nil
    /// if more input is needed.
    package mutating func read() -> (audio: AudioFrame, offset: TimeSpan)? {
        var count = Self.hop
        if let last {
            guard nextPosition < Double(last) else { return nil }
            count = min(count, Int(((Double(last) - nextPosition) / rate).rounded(.up)))
        }
        // A piece fades in and out symmetrically, so its audible part lags its position by this amount.
        let wanted = Int((nextPosition + Double(Self.hop) * (rate - 1)).rounded())
        let needed = max(wanted + Self.reach, continuation ?? 0) + Self.hop
        guard last != nil || needed <= end else { return nil }
        let beginning = continuation.map { piece(continuing: $0, near: max(start, wanted)) } ?? start
        let offset = nextPosition
        let made = overlay(from: continuation ?? beginning, to: beginning, count: count)
        continuation = beginning + Self.hop
        nextPosition += Double(Self.hop) * rate
        discard()
        let audio = AudioFrame(
            samples: made, channels: channels, captureTime: nil,
            timestamp: MediaTime(ticks: Int64(offset.rounded()), rate: .opus))
        return (audio, TimeSpan(seconds: offset / Double(AudioFrame.sampleRate)))
    }

    // MARK: Pieces

    private func overlay(from old: Int, to new: Int, count: Int) -> [Int16] {
        var made: [Int16] = []
        made.reserveCapacity(count * channels)
        for index in 0..<count {
            let part = Self.fade[index]
            for channel in 0..<channels {
                let before = sample((old - start + index) * channels + channel)
                let after = sample((new - start + index) * channels + channel)
                let sum = (before + part * (after - before)).rounded()
                made.append(Int16(min(max(sum, -32_768), 32_767)))
            }
        }
        return made
    }

    /// Returns a sample, or silence after the end.
    private func sample(_ index: Int) -> Float { index < samples.count ? samples[index] : 0 }

    /// Returns the start of the piece that best continues the audio at `old`, within the search range around `wanted`.
    private func piece(continuing old: Int, near wanted: Int) -> Int {
        let latest = end - Self.hop
        let earliest = max(start, wanted - Self.reach)
        guard old <= latest, earliest <= latest else { return min(max(wanted, start), max(latest, start)) }
        let range = earliest...max(earliest, min(wanted + Self.reach, latest))
        let nearest = min(max(wanted, range.lowerBound), range.upperBound)
        let step = Self.coarseness
        let (first, length) = ((old - start) / step, Self.hop / step)
        var best = (lag: nearest - old, similarity: -Float.infinity)
        func look(_ lag: Int, _ line: [Float], from template: Int, to candidate: Int, _ count: Int) {
            let distance = Float(old + lag - wanted) / Float(Self.reach)
            let similarityScore =
                similarity(line, template, candidate, count) - Self.distancePenalty * distance * distance
            if similarityScore > best.similarity { best = (lag, similarityScore) }
        }
        var lag = -((old - range.lowerBound) / step) * step
        while old + lag <= range.upperBound {
            let candidate = first + lag / step
            if old + lag >= range.lowerBound, candidate >= 0, candidate + length <= coarse.count {
                look(lag, coarse, from: first, to: candidate, length)
            }
            lag += step
        }
        let near = best.lag
        best.similarity = -.infinity
        for lag in near - step...near + step where range.contains(old + lag) {
            look(lag, mono, from: old - start, to: old + lag - start, Self.hop)
        }
        return old + best.lag
    }

    /// Returns the similarity of two stretches of audio: 1 if equal, 0 if unrelated.
    private func similarity(_ line: [Float], _ first: Int, _ second: Int, _ count: Int) -> Float {
        line.withUnsafeBufferPointer { line in
            var (product, energy) = (SIMD4<Float>.zero, SIMD4<Float>.zero)
            let (left, right) = (line.baseAddress! + first, line.baseAddress! + second)
            for index in stride(from: 0, to: count, by: 4) {
                let one = UnsafeRawPointer(left + index).loadUnaligned(as: SIMD4<Float>.self)
                let other = UnsafeRawPointer(right + index).loadUnaligned(as: SIMD4<Float>.self)
                product += one * other
                energy += one * one + other * other
            }
            let floor = Self.silence * Float(count)
            return (2 * product.sum() + floor) / (energy.sum() + floor)
        }
    }

    // MARK: Input

    /// Computes the input at a quarter of the rate.
    private mutating func refine() {
        let step = Self.coarseness
        while (coarse.count + 1) * step <= mono.count {
            let first = coarse.count * step
            coarse.append((mono[first] + mono[first + 1] + mono[first + 2] + mono[first + 3]) / Float(step))
        }
    }

    /// Discards input that no later piece uses.
    private mutating func discard() {
        let next = Int((nextPosition + Double(Self.hop) * (rate - 1)).rounded()) - 2 * Self.reach - Self.hop
        let needed = min(continuation ?? 0, next)
        let discarded = (min(needed, end) - start) / Self.coarseness * Self.coarseness
        // Discards in large blocks, because the rest must be moved.
        guard discarded >= 16 * Self.hop else { return }
        samples.removeFirst(discarded * channels)
        mono.removeFirst(discarded)
        coarse.removeFirst(min(coarse.count, discarded / Self.coarseness))
        start += discarded
    }
}
