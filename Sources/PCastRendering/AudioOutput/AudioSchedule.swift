import PCastCodecs
import PCastCore

/// Buffers audio with presentation times and reads it at the rate of a device. It reads no clock; the caller passes the
/// time.
///
/// The synchronizer sets the presentation times. They follow the sender's clock, and drift by a few percent while the
/// delay changes. The device has a clock of its own. Reading changes its rate by up to 0.5 % (a twelfth of a semitone)
/// towards the presentation time. If audio is more than 20 ms off or was interrupted, reading restarts at the position
/// that is due: late audio is skipped, and early audio waits.
struct AudioSchedule {
    /// The largest deviation that is corrected by the rate. It is a fraction of what is perceptible as lip-sync error
    /// (ITU-R BT.1359).
    static let tolerance = TimeSpan.milliseconds(20)

    /// The most audio that is buffered. The oldest is discarded beyond that.
    static let capacity = TimeSpan.seconds(2)

    private static let channels = 2
    private static let maximumBend = 0.005

    /// The time, in seconds, in which the rate change would correct the whole deviation.
    private static let timeout = 0.5

    /// The number of samples (2 ms) of the fade-in and fade-out where audio starts and stops.
    private static let ramp = 96

    /// The position of a frame in the buffer, and its presentation time.
    private struct Anchor {
        var position: Int64
        var length: Int64
        var due: Instant

        var end: Int64 { position + length }

        func due(at position: Double) -> Instant {
            due + TimeSpan(seconds: (position - Double(self.position)) / Double(AudioFrame.sampleRate))
        }
    }

    private var line = FractionalResampler(channels: AudioSchedule.channels, step: 1)
    private var anchors: [Anchor] = []

    /// The position of the next sample to read. It never decreases.
    private var position = 0.0
    private var isPlaying = false

    /// The fade-out of audio that was withdrawn while it was played.
    private var ending: [Float] = []

    /// The counters, in samples at 48 kHz.
    private(set) var samplesPlayed = 0
    private(set) var samplesSkipped = 0
    private(set) var breaks = 0

    /// Adds audio with its presentation time.
    mutating func add(_ frame: AudioFrame, due: Instant) {
        guard frame.sampleCount > 0 else { return }
        var samples: [Float] = []
        samples.reserveCapacity(frame.sampleCount * Self.channels)
        for index in 0..<frame.sampleCount {
            for channel in 0..<Self.channels {
                samples.append(Float(frame.samples[index * frame.channels + channel % frame.channels]) / 32_768)
            }
        }
        anchors.append(Anchor(position: line.end, length: Int64(frame.sampleCount), due: due))
        samples.withUnsafeBufferPointer { line.append($0) }
        let oldest = Double(line.end - ClockRate.opus.ticks(in: Self.capacity))
        if position < oldest {
            isPlaying = false
            skip(to: oldest)
            discard()
        }
    }

    /// Discards all audio that was not read, with a fade-out of what is being played.
    mutating func discardPending() {
        let count = isPlaying ? max(0, min(Self.ramp, Int(line.lastPosition - position))) : 0
        ending = Array(repeating: 0, count: count * Self.channels)
        ending.withUnsafeMutableBufferPointer { samples in
            guard count > 0 else { return }
            line.read(from: position, step: 1, into: samples)
            Self.fade(samples, from: 0, count: count, isRising: false)
        }
        line.restart()
        anchors.removeAll()
        position = 0
        isPlaying = false
    }

    /// Reads interleaved stereo audio for the time from `start` to `end`, or silence. Returns whether any of it is
    /// audio.
    @discardableResult
    mutating func read(from start: Instant, to end: Instant, into target: UnsafeMutableBufferPointer<Float>) -> Bool {
        let count = target.count / Self.channels
        guard count > 0, end > start else { return false }
        target.update(repeating: 0)
        defer {
            for (index, sample) in ending.enumerated() where index < target.count { target[index] += sample }
            ending.removeAll()
        }
        let sample = (end - start).seconds / Double(count)
        var first = 0
        if isPlaying, (start - due(at: position)).magnitude > Self.tolerance { isPlaying = false }
        let begins = !isPlaying
        if begins {
            guard let silence = begin(at: start, until: end) else { return false }
            first = Int((silence.seconds / sample).rounded())
        }
        let playedAt = start + TimeSpan(seconds: Double(first) * sample)
        let made = play(
            from: playedAt, sample: sample, into: UnsafeMutableBufferPointer(rebasing: target[(first * 2)...]))
        if begins { Self.fade(target, from: first, count: min(Self.ramp, made), isRising: true) }
        if made < count - first {
            isPlaying = false
            if made > 0 || !begins { breaks += 1 }
            let length = min(Self.ramp, made)
            Self.fade(target, from: first + made - length, count: length, isRising: false)
        }
        discard()
        return made > 0
    }

    // MARK: Reading

    /// Moves to the audio that is due. Returns the time until it is due; nil if none is due before `end`.
    private mutating func begin(at start: Instant, until end: Instant) -> TimeSpan? {
        isPlaying = false
        for anchor in anchors {
            let first = max(position, Double(anchor.position))
            let lateness = start - anchor.due(at: first)
            if lateness <= .zero {
                skip(to: first)
                isPlaying = -lateness < end - start
                return isPlaying ? -lateness : nil
            }
            let late = first + lateness.seconds * Double(AudioFrame.sampleRate)
            if late < Double(anchor.end) {
                skip(to: late)
                isPlaying = true
                return .zero
            }
        }
        skip(to: Double(line.end))
        discard()
        return nil
    }

    private mutating func skip(to later: Double) {
        samplesSkipped += Int(max(0, later - position).rounded())
        position = max(position, later)
    }

    /// Reads audio and returns the number of samples per channel.
    private mutating func play(
        from playedAt: Instant, sample: Double, into target: UnsafeMutableBufferPointer<Float>
    ) -> Int {
        let count = target.count / Self.channels
        let nominal = Double(AudioFrame.sampleRate) * sample
        let bend = (playedAt - due(at: position)).seconds / Self.timeout
        let step = nominal * (1 + min(max(bend, -Self.maximumBend), Self.maximumBend))
        let there = Int(((line.lastPosition - position) / step).rounded(.down)) + 1
        let made = max(0, min(count, there))
        guard made > 0 else { return 0 }
        line.read(
            from: position, step: step, into: UnsafeMutableBufferPointer(rebasing: target[..<(made * Self.channels)]))
        position += step * Double(made)
        samplesPlayed += Int((step * Double(made)).rounded())
        return made
    }

    /// Returns the presentation time of a position.
    private func due(at position: Double) -> Instant {
        let anchor = anchors.last { Double($0.position) <= position } ?? anchors.first
        return anchor?.due(at: position) ?? Instant(nanoseconds: .max / 2)
    }

    private mutating func discard() {
        anchors.removeAll { Double($0.end) <= position }
        line.discard(before: position)
    }

    private static func fade(
        _ samples: UnsafeMutableBufferPointer<Float>, from first: Int, count: Int, isRising: Bool
    ) {
        for index in 0..<count {
            let part = Float(index + 1) / Float(count + 1)
            for channel in 0..<channels { samples[(first + index) * channels + channel] *= isRising ? part : 1 - part }
        }
    }
}
