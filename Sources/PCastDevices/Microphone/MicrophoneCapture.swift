import CALSA
import Glibc
import PCastCore
import PCastIO
import Synchronization

/// The loop of a microphone's thread: it reads the device, keeps the time, and restarts the device if necessary.
///
/// It is `@unchecked Sendable` because only its thread uses it, except for `pcm.signal` and `statistics`.
final class MicrophoneCapture: @unchecked Sendable {
    /// The time without audio after which the device is restarted, and the time after which it has failed.
    private static let restartAfter = TimeSpan.milliseconds(500)
    private static let giveUpAfter = TimeSpan.seconds(3)

    /// The interval of unsuccessful attempts, in milliseconds.
    private static let retryInterval: Int32 = 20

    private let pcm: CapturePCM
    private let mix: ChannelMix
    private var timeline: CaptureTimeline
    private var pace: SampleRateLimiter
    private var bytes: [UInt8]
    private var captured: [Float] = []
    private var mixed: [Float] = []

    /// The number of samples per channel that were read since the device was started.
    private var position: Int64 = 0
    private var lastAudio = MonotonicClock.now()
    private let counts = Mutex(MicrophoneStatistics())

    init(pcm: CapturePCM, channels: Int) {
        self.pcm = pcm
        mix = ChannelMix(from: pcm.channels, to: channels)
        timeline = CaptureTimeline(rate: pcm.rate, channels: channels)
        pace = SampleRateLimiter(rate: pcm.rate, capacity: pcm.buffer, at: lastAudio)
        bytes = Array(repeating: 0, count: pcm.buffer * pcm.channels * pcm.format.bytes)
    }

    var statistics: MicrophoneStatistics { counts.withLock { $0 } }

    /// Captures until it is signalled (nil) or the device ends.
    func run(deliver: @Sendable (AudioFrame) -> Void) -> SourceEnd? {
        AudioPriority.request()
        do throws(PCMFailure) {
            try start()
            while try step() {
                while let frame = timeline.next() { deliver(finished(frame)) }
            }
            return nil
        } catch {
            return error.isDisconnected ? .vanished("it was disconnected") : .failed(error.reason)
        }
    }

    private func start() throws(PCMFailure) {
        try pcm.start()
        lastAudio = MonotonicClock.now()
        pace = SampleRateLimiter(rate: pcm.rate, capacity: pcm.buffer, at: lastAudio)
    }

    /// Waits, then reads the available audio. Returns false if it was signalled.
    private func step() throws(PCMFailure) -> Bool {
        _ = pace.allowed(at: MonotonicClock.now())
        let early = pace.wait(for: pcm.period)
        let isPaced = early > .zero
        let limit = isPaced ? early : Self.restartAfter
        let wake = try pcm.wait(milliseconds: Int32((limit.milliseconds).rounded(.up)), isPaced: isPaced)
        if wake == .signalled { return false }
        let status = try pcm.readStatus()
        switch status.state {
        case SND_PCM_STATE_RUNNING, SND_PCM_STATE_DRAINING:
            if try take(status) { return true }
            // The device reported audio, but there is none.
            guard wake == .broken || MonotonicClock.now() - lastAudio > Self.restartAfter else { return true }
            return try restart()
        case SND_PCM_STATE_SUSPENDED: return try resume()
        case SND_PCM_STATE_DISCONNECTED: throw PCMFailure(call: "status", code: -ENODEV)
        default: return try restart()
        }
    }

    /// Reads the available audio. Returns false if there is none.
    private func take(_ status: CapturePCM.Status) throws(PCMFailure) -> Bool {
        let now = MonotonicClock.now()
        let count = min(status.available, pace.allowed(at: now))
        guard count > 0 else { return false }
        let decision = timeline.observe(position: position + Int64(status.delay), at: status.instant)
        let size = pcm.format.bytes * pcm.channels
        var consumed = 0
        let failure = bytes.withUnsafeMutableBytes { buffer -> PCMFailure? in
            do throws(PCMFailure) {
                consumed = try pcm.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<(count * size)]))
                pcm.format.floats(UnsafeRawBufferPointer(rebasing: buffer[..<(consumed * size)]), into: &captured)
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            // The state of the device shows at the next check whether it is an overrun or a suspension.
            if failure.code == -EPIPE || failure.code == -ESTRPIPE { return true }
            throw failure
        }
        mix.mix(captured, into: &mixed)
        timeline.append(mixed)
        position += Int64(consumed)
        pace.take(consumed)
        if consumed > 0 { lastAudio = now }
        note(isTimestampImplausible: status.isTimestampImplausible || decision != .followed)
        return consumed > 0
    }

    // MARK: Restarts

    /// Restarts the device after an overrun or if no audio arrives. The gap becomes silence, so that the timeline stays
    /// correct. Returns false if it was signalled.
    private func restart() throws(PCMFailure) -> Bool {
        counts.withLock { $0.xruns += 1 }
        if MonotonicClock.now() - lastAudio > Self.giveUpAfter {
            throw PCMFailure(call: "it delivers no audio", code: -ETIMEDOUT)
        }
        try pcm.start()
        timeline.restart()
        position = 0
        pace = SampleRateLimiter(rate: pcm.rate, capacity: pcm.buffer, at: MonotonicClock.now())
        guard MonotonicClock.now() - lastAudio > Self.restartAfter else { return true }
        return try pcm.wait(milliseconds: Self.retryInterval, isPaced: true) != .signalled
    }

    /// Restarts the device after the system was suspended. Returns false if it was signalled.
    private func resume() throws(PCMFailure) -> Bool {
        while try !pcm.resume() {
            if try pcm.wait(milliseconds: Self.retryInterval, isPaced: true) == .signalled { return false }
        }
        lastAudio = MonotonicClock.now()
        return try restart()
    }

    // MARK: Output

    private func note(isTimestampImplausible: Bool) {
        let (silence, drift) = (timeline.silentSamples, timeline.clock.drift)
        counts.withLock { counts in
            counts.silentSamples = silence
            counts.drift = drift
            if isTimestampImplausible { counts.implausibleTimestamps += 1 }
        }
    }

    private func finished(_ frame: CaptureTimeline.Frame) -> AudioFrame {
        counts.withLock { $0.frames += 1 }
        return AudioFrame(
            samples: frame.samples, channels: mix.to,
            captureTime: MonotonicClock.reference().wallTime(at: frame.start),
            timestamp: MediaTime(ticks: frame.ticks, rate: .opus))
    }
}

/// Converts a device's channels to one or two: a single channel is duplicated, and several are averaged.
struct ChannelMix {
    let from: Int
    /// The number of output channels, 1 or 2.
    let to: Int

    /// Converts samples with interleaved channels.
    func mix(_ samples: [Float], into result: inout [Float]) {
        guard from != to else {
            result = samples
            return
        }
        let count = samples.count / from
        result.removeAll(keepingCapacity: true)
        result.reserveCapacity(count * to)
        for index in 0..<count {
            for channel in 0..<to {
                result.append(from == 1 ? samples[index] : mean(samples, frame: index, first: channel))
            }
        }
    }

    /// Returns the mean of every other channel. Even channels are the left ones, because the inputs of audio interfaces
    /// are paired.
    private func mean(_ samples: [Float], frame: Int, first: Int) -> Float {
        var (sum, count) = (Float.zero, Float.zero)
        for channel in stride(from: first, to: from, by: to) {
            sum += samples[frame * from + channel]
            count += 1
        }
        return sum / count
    }
}

/// Limits the number of samples to the elapsed time. Some devices (`file`, `null`) have no clock and deliver as many
/// samples as requested, and so do faulty drivers. It reads no clock; the caller passes the time.
struct SampleRateLimiter {
    /// The factor by which a device may be faster than nominal.
    private static let rateTolerance = 1.001

    private let rate: Double
    /// The size of the device's buffer, which may be available at once.
    private let capacity: Double
    private var allowance: Double
    private var last: Instant

    /// Creates a limit. The rate is the sample rate, and the capacity the size of the device's buffer in samples per
    /// channel.
    init(rate: Int, capacity: Int, at now: Instant) {
        self.rate = Double(rate) * Self.rateTolerance
        self.capacity = Double(capacity)
        allowance = Double(capacity)
        last = now
    }

    /// Returns the number of samples that may be read now.
    mutating func allowed(at now: Instant) -> Int {
        allowance = min(capacity, allowance + max(0, (now - last).seconds) * rate)
        last = now
        return Int(allowance)
    }

    mutating func take(_ count: Int) { allowance -= Double(count) }

    /// Returns the time until a number of samples may be read; zero if they may be now.
    func wait(for count: Int) -> TimeSpan {
        TimeSpan(seconds: max(0, (min(Double(count), capacity) - allowance) / rate))
    }
}
