import PCastCodecs
import PCastCore
import PCastIO

/// Converts captured audio to frames of 20 ms at 48 kHz whose sample count is the time. Sample n belongs to the time
/// n/48000 s after the first, independent of the device's clock. It reads no clock; the caller passes the time.
///
/// `SampleClock` maps times to positions in the device's samples, where the audio is read with interpolation. The rate
/// changes by at most 0.2 % (three hundredths of a semitone), which compensates for the deviation of the device's clock
/// and for corrections of the mapping. Larger gaps, as after an overrun, become silence of the same length, and
/// duplicate audio is dropped.
struct CaptureTimeline {
    struct Frame {
        /// The samples, with interleaved channels.
        var samples: [Int16]
        /// The capture time of the first sample.
        var start: Instant
        /// The number of the first sample.
        var ticks: Int64
    }

    /// The largest deviation that is corrected by the rate. Beyond it, the position is changed.
    static let tolerance = TimeSpan.milliseconds(20)

    /// The longest gap that is filled with silence. After a longer one, the sample count and the time jump.
    static let maximumSilence = TimeSpan.seconds(1)

    private static let maximumBend = 0.002

    /// The time, in seconds, in which a deviation is corrected.
    private static let timeout = 2.0

    private let channels: Int
    private let nominalStep: Double
    private var resampler: FractionalResampler
    private var frame: [Int16] = []
    private var scratch: [Float]

    /// The capture time of the first sample; nil before it.
    private var origin: Instant?

    /// The number of the next sample.
    private var ticks: Int64 = 0

    /// The position of the next sample in the device's samples.
    private var nextSample = 0.0

    /// The number of samples of silence to insert before the next sample.
    private var silenceDue = 0

    private(set) var clock: SampleClock

    /// The number of samples of silence that were inserted.
    private(set) var silentSamples = 0

    /// Creates a timeline.
    ///
    /// - Parameters:
    ///   - rate: The sample rate of the device.
    ///   - channels: The number of channels, 1 or 2.
    init(rate: Int, channels: Int) {
        self.channels = channels
        nominalStep = Double(rate) / Double(AudioFrame.sampleRate)
        resampler = FractionalResampler(channels: channels, step: nominalStep)
        clock = SampleClock(rate: rate)
        scratch = Array(repeating: 0, count: AudioFrameTiming.sampleCount * channels)
    }

    /// Restarts after the device was restarted, because its sample count starts again at zero.
    mutating func restart() {
        clock.restart()
        resampler.restart()
        nextSample = 0
        silenceDue = 0
    }

    /// Records the position of the device at a time.
    mutating func observe(position: Int64, at instant: Instant) -> SampleClock.Decision {
        clock.observe(position: position, at: instant)
    }

    /// Adds captured audio with interleaved channels.
    mutating func append(_ samples: [Float]) { samples.withUnsafeBufferPointer { resampler.append($0) } }

    /// Returns the next frame; nil if it is incomplete.
    mutating func next() -> Frame? {
        guard let first = origin ?? clock.instant(of: 0) else { return nil }
        origin = first
        while frame.count < AudioFrameTiming.sampleCount * channels {
            guard fill(from: first) else { return nil }
        }
        defer { frame.removeAll(keepingCapacity: true) }
        let start = ticks - Int64(AudioFrameTiming.sampleCount)
        return Frame(samples: frame, start: first + ClockRate.opus.span(ofTicks: start), ticks: start)
    }

    /// Extends the current frame. Returns false if it requires more audio.
    private mutating func fill(from origin: Instant) -> Bool {
        if silenceDue > 0 {
            fillWithSilence()
            return true
        }
        let now = origin + ClockRate.opus.span(ofTicks: ticks)
        guard let target = clock.position(at: now) else { return false }
        let missing = TimeSpan(seconds: (nextSample - target) / clock.rate)
        if missing > Self.maximumSilence, frame.isEmpty {
            ticks += ClockRate.opus.ticks(in: missing)
            return true
        }
        if missing > Self.tolerance {
            silenceDue = Int(ClockRate.opus.ticks(in: min(missing, Self.maximumSilence)))
            return true
        }
        if missing < -Self.tolerance {
            nextSample = target
            resampler.discard(before: nextSample)
        }
        return read(from: now, target: target)
    }

    private mutating func fillWithSilence() {
        let made = min(silenceDue, AudioFrameTiming.sampleCount - frame.count / channels)
        frame.append(contentsOf: repeatElement(0, count: made * channels))
        ticks += Int64(made)
        silentSamples += made
        silenceDue -= made
    }

    private mutating func read(from now: Instant, target: Double) -> Bool {
        let remaining = AudioFrameTiming.sampleCount - frame.count / channels
        let span = ClockRate.opus.span(ofTicks: Int64(remaining))
        // The rate is that of the device, plus a small correction while the position deviates. Corrections of the
        // mapping must not be audible.
        let pace = ((clock.position(at: now + span) ?? target) - target) / Double(remaining)
        let correction = (target - nextSample) / (Self.timeout * Double(AudioFrame.sampleRate))
        let bend = nominalStep * Self.maximumBend
        let step = min(max(pace + correction, nominalStep - bend), nominalStep + bend)
        guard nextSample + step * Double(remaining) <= resampler.lastPosition else { return false }
        scratch.withUnsafeMutableBufferPointer { buffer in
            let target = UnsafeMutableBufferPointer(rebasing: buffer[..<(remaining * channels)])
            resampler.read(from: nextSample, step: step, into: target)
            for sample in target { frame.append(Int16(max(-32_768, min(32_767, (sample * 32_768).rounded())))) }
        }
        ticks += Int64(remaining)
        nextSample += step * Double(remaining)
        resampler.discard(before: nextSample)
        return true
    }
}
