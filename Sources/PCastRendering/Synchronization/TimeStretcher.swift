internal import Glibc
package import PCastCore

/// Changes the speed of audio and keeps its pitch. Overlapping pieces are each taken from where they best continue the
/// previous one (waveform similarity overlap-add; Verhelst and Roelands, ICASSP 1993).
///
/// A piece is 30 ms long, and half of it crossfades with the previous one. The search covers 12 ms to either side of
/// its nominal position, a whole period of everything above 42 Hz. This needs audio that follows, so it is meant for
/// contents that are played at another speed. Live audio is corrected one frame at a time and without a delay, by
/// ``shorten(_:by:isUrgent:)`` and ``lengthen(_:by:isUrgent:)``.
package struct TimeStretcher: Sendable {
    /// The number of samples that are produced at once: 15 ms, half a piece.
    package static let hop = 720

    private static let reach = 576
    /// The similarity penalty at the ends of the search range, which prefers the nearest of several equal matches.
    private static let distancePenalty: Float = 0.02
    private static let fade: [Float] = (0..<hop).map { Float(0.5 - 0.5 * cos(.pi * (Double($0) + 0.5) / Double(hop))) }

    /// The number of channels of the output.
    package let channels: Int
    /// The speed factor. A change applies from the next piece on.
    package var rate: Double

    // The input from `start` on, which is a multiple of `WaveformLine.step`: interleaved, and mixed to mono.
    private var start = 0
    private var samples: [Float] = []
    private var line = WaveformLine()

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

    private var end: Int { start + line.count }

    /// Adds audio that follows the previous one.
    package mutating func append(_ audio: AudioFrame) {
        guard last == nil else { return }
        for index in 0..<audio.sampleCount {
            for channel in 0..<channels {
                samples.append(Float(audio.samples[index * audio.channels + channel % audio.channels]))
            }
        }
        line.append(audio, channels: channels)
    }

    /// Marks the end of the input, so that it can be read completely.
    package mutating func finish() {
        guard last == nil else { return }
        last = end
        let padding = Self.hop * 2 + Self.reach + Int(Double(Self.hop) * max(0, rate - 1)) + 1
        samples += Array(repeating: 0, count: padding * channels)
        line.append(silence: padding)
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
                made.append(Self.blend(before, after, part))
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
        let lag = line.bestLag(
            from: old - start, in: range.lowerBound - old...range.upperBound - old, near: nearest - old,
            count: Self.hop
        ) { lag in
            let distance = Float(old + lag - wanted) / Float(Self.reach)
            return Self.distancePenalty * distance * distance
        }.lag
        return old + lag
    }

    /// Returns the sample between two others: the first at 0, the second at 1.
    private static func blend(_ before: Float, _ after: Float, _ part: Float) -> Int16 {
        Int16(min(max((before + part * (after - before)).rounded(), -32_768), 32_767))
    }

    // MARK: Input

    /// Discards input that no later piece uses.
    private mutating func discard() {
        let next = Int((nextPosition + Double(Self.hop) * (rate - 1)).rounded()) - 2 * Self.reach - Self.hop
        let needed = min(continuation ?? 0, next)
        let discarded = (min(needed, end) - start) / WaveformLine.step * WaveformLine.step
        // Discards in large blocks, because the rest must be moved.
        guard discarded >= 16 * Self.hop else { return }
        samples.removeFirst(discarded * channels)
        line.removeFirst(discarded)
        start += discarded
    }
}

// MARK: One frame

/// The correction of a single frame: one period is removed or repeated with a crossfade where it matches best.
extension TimeStretcher {
    /// The periods to search, in samples at 48 kHz: 400 to 100 Hz. For lower voices, a similar part is found.
    private static let periods = 120...480
    /// The smallest similarity at which audio is changed unless it is urgent.
    private static let minimumSimilarity: Float = 0.6

    /// Returns the audio without one period of at most `most`; nil if that would be audible. If it is urgent, the best
    /// match is used anyway.
    static func shorten(_ audio: AudioFrame, by most: TimeSpan, isUrgent: Bool = false) -> AudioFrame? {
        guard let count = period(of: audio, most: most, isUrgent: isUrgent).map({ $0 * audio.channels }) else {
            return nil
        }
        let faded = crossfade(audio, from: 0, to: count, count: count)
        return audio.with(faded + audio.samples[(2 * count)...])
    }

    /// Returns the audio with one period of at most `most` repeated; nil if that would be audible. If it is urgent, the
    /// best match is used anyway.
    static func lengthen(_ audio: AudioFrame, by most: TimeSpan, isUrgent: Bool = false) -> AudioFrame? {
        guard let count = period(of: audio, most: most, isUrgent: isUrgent).map({ $0 * audio.channels }) else {
            return nil
        }
        let faded = crossfade(audio, from: count, to: 0, count: count)
        return audio.with(Array(audio.samples[..<count]) + faded + audio.samples[count...])
    }

    /// Returns a crossfade between two parts of a frame. All numbers are those of interleaved samples.
    private static func crossfade(_ audio: AudioFrame, from old: Int, to new: Int, count: Int) -> [Int16] {
        (0..<count).map { index in
            let part = (Float(index / audio.channels) + 0.5) / Float(count / audio.channels)
            return blend(Float(audio.samples[old + index]), Float(audio.samples[new + index]), part)
        }
    }

    /// Returns the number of samples after which the audio is most similar to itself.
    private static func period(of audio: AudioFrame, most: TimeSpan, isUrgent: Bool) -> Int? {
        let longest = min(periods.upperBound, audio.sampleCount / 2, Int(ClockRate.opus.ticks(in: most)))
        guard longest >= periods.lowerBound else { return nil }
        var line = WaveformLine()
        line.append(audio, channels: audio.channels)
        if line.isSilent { return longest }
        let count = (audio.sampleCount - longest) / WaveformLine.granularity * WaveformLine.granularity
        let best = line.bestLag(from: 0, in: periods.lowerBound...longest, near: longest, count: count)
        return isUrgent || best.similarity >= minimumSimilarity ? best.lag : nil
    }
}

extension AudioFrame {
    /// Returns the audio with other samples and the same times.
    fileprivate func with(_ samples: [Int16]) -> AudioFrame {
        var frame = self
        frame.samples = samples
        return frame
    }
}

/// Mono audio in which similar parts are found. A search first uses audio at a quarter of the rate, then single samples.
private struct WaveformLine: Sendable {
    /// The ratio of the two rates.
    static let step = 4
    /// The length of parts that are compared is a multiple of this, because both rates are read in vectors of four.
    static let granularity = 4 * step
    /// The mean square difference that counts as equal, so that silence continues with silence.
    private static let silence: Float = 40 * 40

    private var samples: [Float] = []
    private var coarse: [Float] = []

    /// The number of samples.
    var count: Int { samples.count }

    /// Whether the mean square is that of silence.
    var isSilent: Bool { samples.reduce(0) { $0 + $1 * $1 } < Self.silence * Float(samples.count) }

    /// Adds the mean of the first channels of a frame. A channel that is missing is the same as an earlier one.
    mutating func append(_ audio: AudioFrame, channels: Int) {
        for index in 0..<audio.sampleCount {
            var sum: Float = 0
            for channel in 0..<channels {
                sum += Float(audio.samples[index * audio.channels + channel % audio.channels])
            }
            samples.append(sum / Float(channels))
        }
        refine()
    }

    /// Adds silence.
    mutating func append(silence count: Int) {
        samples += Array(repeating: 0, count: count)
        refine()
    }

    /// Removes the first samples. The number is a multiple of ``step``.
    mutating func removeFirst(_ count: Int) {
        samples.removeFirst(count)
        coarse.removeFirst(min(coarse.count, count / Self.step))
    }

    /// Computes the samples at a quarter of the rate.
    private mutating func refine() {
        while (coarse.count + 1) * Self.step <= samples.count {
            let first = coarse.count * Self.step
            let sum = samples[first] + samples[first + 1] + samples[first + 2] + samples[first + 3]
            coarse.append(sum / Float(Self.step))
        }
    }

    /// Returns the lag at which a part is most similar to another one.
    ///
    /// - Parameters:
    ///   - template: The beginning of the part.
    ///   - lags: The distances to the other parts. All of these are within the samples.
    ///   - near: The lag around which single samples are compared if there is no lag at a quarter of the rate.
    ///   - count: The length of the part, a multiple of ``granularity``.
    ///   - penalty: Returns the number by which the similarity at a lag is reduced.
    /// - Returns: The lag, and the similarity there less the penalty.
    func bestLag(
        from template: Int, in lags: ClosedRange<Int>, near: Int, count: Int, penalty: (Int) -> Float = { _ in 0 }
    ) -> (lag: Int, similarity: Float) {
        var best = (lag: near, similarity: -Float.infinity)
        func compare(_ lag: Int, _ line: [Float], from template: Int, to candidate: Int, _ count: Int) {
            let similarity = Self.similarity(line, template, candidate, count) - penalty(lag)
            if similarity > best.similarity { best = (lag, similarity) }
        }
        let (first, length) = (template / Self.step, count / Self.step)
        var lag = lags.lowerBound / Self.step * Self.step
        while lag <= lags.upperBound {
            let candidate = first + lag / Self.step
            if lag >= lags.lowerBound, candidate >= 0, candidate + length <= coarse.count {
                compare(lag, coarse, from: first, to: candidate, length)
            }
            lag += Self.step
        }
        let nearest = best.lag
        best.similarity = -.infinity
        for lag in nearest - Self.step...nearest + Self.step where lags.contains(lag) {
            compare(lag, samples, from: template, to: template + lag, count)
        }
        return best
    }

    /// Returns the similarity of two parts of a line: 1 if equal, 0 if unrelated.
    private static func similarity(_ line: [Float], _ first: Int, _ second: Int, _ count: Int) -> Float {
        line.withUnsafeBufferPointer { line in
            var (product, energy) = (SIMD4<Float>.zero, SIMD4<Float>.zero)
            let (left, right) = (line.baseAddress! + first, line.baseAddress! + second)
            for index in stride(from: 0, to: count, by: 4) {
                let one = UnsafeRawPointer(left + index).loadUnaligned(as: SIMD4<Float>.self)
                let other = UnsafeRawPointer(right + index).loadUnaligned(as: SIMD4<Float>.self)
                product += one * other
                energy += one * one + other * other
            }
            let floor = silence * Float(count)
            return (2 * product.sum() + floor) / (energy.sum() + floor)
        }
    }
}
