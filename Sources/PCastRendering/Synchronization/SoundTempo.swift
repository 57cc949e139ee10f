internal import Glibc
public import PCastMedia

/// Plays sound slower or faster with its pitch kept: pieces of it are laid over each other, each taken from where it best
/// continues the one before (waveform similarity overlap-add, Verhelst and Roelands, ICASSP 1993).
///
/// A piece is 30 ms, and the half of it that overlaps with the one before is faded over. It is looked for 12 ms to either side
/// of its place, which is a whole period of all that is above 42 Hz: first on sound of a quarter of the rate, then to the
/// sample.
public struct SoundTempo: Sendable {
    /// Samples that are made at once, 15 ms: half of a piece.
    public static let hop = 720

    private static let reach = 576
    private static let coarseness = 4
    /// What differs by less than this mean square is as good as alike, so that silence is continued by silence.
    private static let silence: Float = 40 * 40
    /// What is lost of likeness at the far ends of the search, so that of pieces alike the one nearest to its place is taken.
    private static let distancePenalty: Float = 0.02
    private static let fade: [Float] = (0..<hop).map { Float(0.5 - 0.5 * cos(.pi * (Double($0) + 0.5) / Double(hop))) }

    public let channels: Int
    /// How much faster; may be changed at any time, and holds from the next piece on.
    public var rate: Double

    // The sound that came, from `start` on, a multiple of the coarseness: channels interleaved, all of them in one, and that at
    // a quarter of the rate.
    private var start = 0
    private var samples: [Float] = []
    private var mono: [Float] = []
    private var coarse: [Float] = []

    /// Where in it the next piece would be if there were nothing to be continued.
    private var place = 0.0
    /// What continues the last piece; nil before the first.
    private var continuation: Int?
    /// Where the sound ends, once it does.
    private var last: Int?

    /// - Parameters:
    ///   - channels: of what is made; 1 or 2.
    ///   - rate: positive.
    public init(channels: Int, rate: Double) {
        precondition((channels == 1 || channels == 2) && rate > 0)
        (self.channels, self.rate) = (channels, rate)
    }

    private var end: Int { start + mono.count }

    /// Takes in what follows the sound that came before.
    public mutating func append(_ sound: AudioFrame) {
        guard last == nil else { return }
        for index in 0..<sound.sampleCount {
            var sum: Float = 0
            for channel in 0..<channels {
                let sample = Float(sound.samples[index * sound.channels + channel % sound.channels])
                samples.append(sample)
                sum += sample
            }
            mono.append(sum / Float(channels))
        }
        refine()
    }

    /// No more comes: what is there can be read to its end.
    public mutating func finish() {
        guard last == nil else { return }
        last = end
        let padding = Self.hop * 2 + Self.reach + Int(Double(Self.hop) * max(0, rate - 1)) + 1
        samples += Array(repeating: 0, count: padding * channels)
        mono += Array(repeating: 0, count: padding)
        refine()
    }

    /// The next 15 ms, or what is left at the end; nil when that needs more sound.
    ///
    /// - Returns: the sound, and how far from the first sample that came it would stand in that.
    public mutating func read() -> (sound: AudioFrame, offset: TimeSpan)? {
        var count = Self.hop
        if let last {
            guard place < Double(last) else { return nil }
            count = min(count, Int(((Double(last) - place) / rate).rounded(.up)))
        }
        // What is heard of a piece, its first half fading in and its second fading out, is as much behind its place as this.
        let wanted = Int((place + Double(Self.hop) * (rate - 1)).rounded())
        let needed = max(wanted + Self.reach, continuation ?? 0) + Self.hop
        guard last != nil || needed <= end else { return nil }
        let beginning = continuation.map { piece(continuing: $0, near: max(start, wanted)) } ?? start
        let offset = place
        let made = overlay(from: continuation ?? beginning, to: beginning, count: count)
        continuation = beginning + Self.hop
        place += Double(Self.hop) * rate
        forget()
        let sound = AudioFrame(
            samples: made, channels: channels, captureTime: nil,
            timestamp: MediaTime(ticks: Int64(offset.rounded()), rate: .opus))
        return (sound, TimeSpan(seconds: offset / Double(AudioFrame.sampleRate)))
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

    /// Silence behind the end.
    private func sample(_ index: Int) -> Float { index < samples.count ? samples[index] : 0 }

    /// Where the piece begins that best continues what stands at `old`, no further than the reach from its place.
    private func piece(continuing old: Int, near wanted: Int) -> Int {
        let latest = end - Self.hop
        let earliest = max(start, wanted - Self.reach)
        guard old <= latest, earliest <= latest else { return min(max(wanted, start), max(latest, start)) }
        let range = earliest...max(earliest, min(wanted + Self.reach, latest))
        let nearest = min(max(wanted, range.lowerBound), range.upperBound)
        let step = Self.coarseness
        let (first, length) = ((old - start) / step, Self.hop / step)
        var best = (lag: nearest - old, likeness: -Float.infinity)
        func look(_ lag: Int, _ line: [Float], from template: Int, to candidate: Int, _ count: Int) {
            let distance = Float(old + lag - wanted) / Float(Self.reach)
            let alike = likeness(line, template, candidate, count) - Self.distancePenalty * distance * distance
            if alike > best.likeness { best = (lag, alike) }
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
        best.likeness = -.infinity
        for lag in near - step...near + step where range.contains(old + lag) {
            look(lag, mono, from: old - start, to: old + lag - start, Self.hop)
        }
        return old + best.lag
    }

    /// How alike two stretches of a line are: 1 for the same, 0 where they have nothing to do with each other.
    private func likeness(_ line: [Float], _ first: Int, _ second: Int, _ count: Int) -> Float {
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

    // MARK: The line

    /// Makes the coarse line of what came.
    private mutating func refine() {
        let step = Self.coarseness
        while (coarse.count + 1) * step <= mono.count {
            let first = coarse.count * step
            coarse.append((mono[first] + mono[first + 1] + mono[first + 2] + mono[first + 3]) / Float(step))
        }
    }

    /// Forgets what no later piece is taken from.
    private mutating func forget() {
        let next = Int((place + Double(Self.hop) * (rate - 1)).rounded()) - 2 * Self.reach - Self.hop
        let needed = min(continuation ?? 0, next)
        let gone = (min(needed, end) - start) / Self.coarseness * Self.coarseness
        // Now and then, for all the rest is moved.
        guard gone >= 16 * Self.hop else { return }
        samples.removeFirst(gone * channels)
        mono.removeFirst(gone)
        coarse.removeFirst(min(coarse.count, gone / Self.coarseness))
        start += gone
    }
}
