import PCastCodecs
import PCastIO
import PCastMedia

/// Makes frames of 20 ms at 48 kHz of what a device captured, such that the count of samples is the time: sample n belongs
/// to the instant n/48000 s after the first, whatever the device's crystal does. It is told the time.
///
/// Where in the device's samples an instant lies is for `SampleClock` to say, and there the sample is read, between the
/// device's own where need be. The pace bends by at most 0.2 % (three hundredths of a semitone), which takes up the
/// crystal's deviation and what the clock learns. What is missing beyond that, as after an overrun, becomes silence of its
/// very length, and what is there twice is left out.
struct CaptureTimeline {
    struct Frame {
        /// Channels interleaved.
        var samples: [Int16]
        /// When the first sample was captured.
        var start: Instant
        /// The first sample's number.
        var ticks: Int64
    }

    /// Beyond this, the pace is not bent but the place is changed.
    static let tolerance = TimeSpan.milliseconds(20)

    /// A longer gap is not filled: the count of samples jumps, and so does the time.
    static let longestSilence = TimeSpan.seconds(1)

    private static let mostBend = 0.002

    /// In how many seconds the place is brought to where it should be.
    private static let patience = 2.0

    private let channels: Int
    private let nominalStep: Double
    private var resampler: FractionalResampler
    private var frame: [Int16] = []
    private var scratch: [Float]

    /// Of the first sample of all.
    private var origin: Instant?

    /// The number of the next sample that is made.
    private var ticks: Int64 = 0

    /// Where that one lies in the device's samples.
    private var place = 0.0

    /// Samples of silence that come before that one.
    private var silenceDue = 0

    private(set) var clock: SampleClock

    /// Samples that were made of nothing.
    private(set) var silentSamples = 0

    /// - Parameters:
    ///   - rate: of the device, in samples a second.
    ///   - channels: 1 or 2, of what is appended and of what is made.
    init(rate: Int, channels: Int) {
        self.channels = channels
        nominalStep = Double(rate) / Double(AudioFrame.sampleRate)
        resampler = FractionalResampler(channels: channels, step: nominalStep)
        clock = SampleClock(rate: rate)
        scratch = Array(repeating: 0, count: SoundBeat.sampleCount * channels)
    }

    /// The device was started again, and counts its samples from zero.
    mutating func restart() {
        clock.restart()
        resampler.restart()
        place = 0
        silenceDue = 0
    }

    /// The device was at `position` at `instant`.
    mutating func observe(position: Int64, at instant: Instant) -> SampleClock.Verdict {
        clock.observe(position: position, at: instant)
    }

    /// Appends what the device captured, channels interleaved.
    mutating func append(_ samples: [Float]) { samples.withUnsafeBufferPointer { resampler.append($0) } }

    /// The next frame, if all of it is there.
    mutating func next() -> Frame? {
        guard let first = origin ?? clock.instant(of: 0) else { return nil }
        origin = first
        while frame.count < SoundBeat.sampleCount * channels {
            guard fill(from: first) else { return nil }
        }
        defer { frame.removeAll(keepingCapacity: true) }
        let start = ticks - Int64(SoundBeat.sampleCount)
        return Frame(samples: frame, start: first + ClockRate.opus.span(ofTicks: start), ticks: start)
    }

    /// Brings the frame on; answers false when that needs more samples.
    private mutating func fill(from origin: Instant) -> Bool {
        if silenceDue > 0 {
            fillWithSilence()
            return true
        }
        let now = origin + ClockRate.opus.span(ofTicks: ticks)
        guard let target = clock.position(at: now) else { return false }
        let missing = TimeSpan(seconds: (place - target) / clock.rate)
        if missing > Self.longestSilence, frame.isEmpty {
            ticks += ClockRate.opus.ticks(in: missing)
            return true
        }
        if missing > Self.tolerance {
            silenceDue = Int(ClockRate.opus.ticks(in: min(missing, Self.longestSilence)))
            return true
        }
        if missing < -Self.tolerance {
            place = target
            resampler.forget(before: place)
        }
        return read(from: now, target: target)
    }

    private mutating func fillWithSilence() {
        let made = min(silenceDue, SoundBeat.sampleCount - frame.count / channels)
        frame.append(contentsOf: repeatElement(0, count: made * channels))
        ticks += Int64(made)
        silentSamples += made
        silenceDue -= made
    }

    private mutating func read(from now: Instant, target: Double) -> Bool {
        let room = SoundBeat.sampleCount - frame.count / channels
        let span = ClockRate.opus.span(ofTicks: Int64(room))
        // The device's own pace, and a little more or less for as long as the place is not what it should be: what the
        // clock learns from one observation to the next must not be heard.
        let pace = ((clock.position(at: now + span) ?? target) - target) / Double(room)
        let correction = (target - place) / (Self.patience * Double(AudioFrame.sampleRate))
        let bend = nominalStep * Self.mostBend
        let step = min(max(pace + correction, nominalStep - bend), nominalStep + bend)
        guard place + step * Double(room) <= resampler.lastPlace else { return false }
        scratch.withUnsafeMutableBufferPointer { buffer in
            let target = UnsafeMutableBufferPointer(rebasing: buffer[..<(room * channels)])
            resampler.read(from: place, step: step, into: target)
            for sample in target { frame.append(Int16(max(-32_768, min(32_767, (sample * 32_768).rounded())))) }
        }
        ticks += Int64(room)
        place += step * Double(room)
        resampler.forget(before: place)
        return true
    }
}
