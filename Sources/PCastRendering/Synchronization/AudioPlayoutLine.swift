import PCastCore

/// Places pieces of audio one after the other, each as close to its presentation time as possible without a break.
///
/// If the delay changes, a period of the audio is occasionally removed or repeated. Deviations of a few milliseconds,
/// such as those between two clocks, are left to the resampling of the audio output (`AudioSchedule`). There is a gap
/// only if audio is missing when the previous piece ends.
struct AudioPlayoutLine {
    /// A piece of audio and the time at which it is played.
    struct TimedAudio {
        var audio: AudioFrame
        var start: Instant
        /// The silence before it that should have been audio.
        var gap: TimeSpan
    }

    /// The largest deviation that is not corrected by stretching.
    private static let tolerance = TimeSpan.milliseconds(5)

    /// The deviation above which the audio is stretched even if no period matches well.
    private static let urgency = TimeSpan.milliseconds(30)

    /// The deviation above which there is a break instead of many seconds of stretching.
    private static let maximumStretching = TimeSpan.milliseconds(500)

    /// The largest correction as a fraction of the audio's length (1/250), which the audio output can follow by
    /// resampling.
    private static let pace: Int64 = 250

    /// The end of the audio that was placed, and the expected timestamp of the next piece.
    private var end: Instant?
    private var next: TimeSpan?

    /// Places audio whose presentation time is `due`, and which can be played from `ready` on at the earliest.
    mutating func append(_ audio: AudioFrame, due: Instant, ready: Instant) -> TimedAudio {
        let follows = next.map { (audio.timestamp.span - $0).magnitude < Self.tolerance } ?? false
        next = audio.timestamp.span + audio.length
        guard let end, follows, (due - end).magnitude <= Self.maximumStretching else {
            return append(audio, at: max(due, ready), gap: .zero)
        }
        if end < ready { return append(audio, at: max(due, ready), gap: max(due, ready) - end) }
        let error = due - end
        let stretched =
            error > Self.tolerance
            ? OverlapAdd.lengthen(audio, by: error, isUrgent: error > Self.urgency)
            : -error > Self.tolerance ? OverlapAdd.shorten(audio, by: -error, isUrgent: -error > Self.urgency) : nil
        let step = audio.length / Self.pace
        return append(stretched ?? audio, at: max(ready, end + min(max(error / 50, -step), step)), gap: .zero)
    }

    private mutating func append(_ audio: AudioFrame, at start: Instant, gap: TimeSpan) -> TimedAudio {
        end = start + audio.length
        return TimedAudio(audio: audio, start: start, gap: gap)
    }
}

/// Makes audio slightly shorter or longer without changing its pitch. One period is removed or repeated with a
/// crossfade where it matches best (waveform similarity overlap-add; Verhelst and Roelands, ICASSP 1993).
enum OverlapAdd {
    /// The periods to search, in samples at 48 kHz: 400 to 100 Hz. For lower voices, a similar part is found.
    private static let periods = 120...480

    /// The smallest similarity at which audio is changed unless it is urgent.
    private static let similarity: Float = 0.6

    /// The mean square below which audio counts as silence and may be changed anywhere.
    private static let silence: Float = 40 * 40

    /// Returns the audio without one period of at most `most`; nil if that would be audible. If it is urgent, the best
    /// match is used anyway.
    static func shorten(_ audio: AudioFrame, by most: TimeSpan, isUrgent: Bool = false) -> AudioFrame? {
        guard let period = period(of: audio, most: most, isUrgent: isUrgent) else { return nil }
        let channels = audio.channels
        var samples: [Int16] = []
        samples.reserveCapacity(audio.samples.count - period * channels)
        for index in 0..<period * channels {
            samples.append(
                crossfade(audio.samples[index], audio.samples[index + period * channels], index / channels, of: period))
        }
        samples += audio.samples[(2 * period * channels)...]
        return audio.with(samples)
    }

    /// Returns the audio with one period of at most `most` repeated; nil if that would be audible. If it is urgent, the
    /// best match is used anyway.
    static func lengthen(_ audio: AudioFrame, by most: TimeSpan, isUrgent: Bool = false) -> AudioFrame? {
        guard let period = period(of: audio, most: most, isUrgent: isUrgent) else { return nil }
        let channels = audio.channels
        var samples: [Int16] = []
        samples.reserveCapacity(audio.samples.count + period * channels)
        samples += audio.samples[..<(period * channels)]
        for index in 0..<period * channels {
            samples.append(
                crossfade(audio.samples[index + period * channels], audio.samples[index], index / channels, of: period))
        }
        samples += audio.samples[(period * channels)...]
        return audio.with(samples)
    }

    private static func crossfade(_ from: Int16, _ to: Int16, _ index: Int, of count: Int) -> Int16 {
        let part = (Float(index) + 0.5) / Float(count)
        return Int16((Float(from) * (1 - part) + Float(to) * part).rounded())
    }

    /// Returns the number of samples after which the audio is most similar to itself.
    private static func period(of audio: AudioFrame, most: TimeSpan, isUrgent: Bool) -> Int? {
        let longest = min(periods.upperBound, audio.sampleCount / 2, Int(ClockRate.opus.ticks(in: most)))
        guard longest >= periods.lowerBound else { return nil }
        let line = (0..<audio.sampleCount).map { index in
            (0..<audio.channels).reduce(Float(0)) { $0 + Float(audio.samples[index * audio.channels + $1]) }
        }
        let length = audio.sampleCount - longest
        let energy = line.reduce(0) { $0 + $1 * $1 } / Float(line.count * audio.channels * audio.channels)
        if energy < silence { return longest }
        var best = (period: longest, similarity: -Float.infinity)
        func look(_ period: Int) {
            let found = similarity(line, shiftedBy: period, over: length)
            if found > best.similarity { best = (period, found) }
        }
        for period in stride(from: periods.lowerBound, through: longest, by: 4) { look(period) }
        let coarse = best.period
        for period in max(periods.lowerBound, coarse - 3)...min(longest, coarse + 3) { look(period) }
        return isUrgent || best.similarity >= similarity ? best.period : nil
    }

    private static func similarity(_ line: [Float], shiftedBy period: Int, over length: Int) -> Float {
        var (product, first, second) = (Float(0), Float(1), Float(1))
        line.withUnsafeBufferPointer { line in
            for index in 0..<length {
                let (left, right) = (line[index], line[index + period])
                product += left * right
                first += left * left
                second += right * right
            }
        }
        return product / (first * second).squareRoot()
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
