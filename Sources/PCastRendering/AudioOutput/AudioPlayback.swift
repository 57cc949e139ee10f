import CALSA
import PCastCodecs
import PCastCore
import PCastIO

/// The loop of an audio output's thread. It writes the audio that is due, or silence, and restarts the device after an
/// underrun.
struct AudioPlayback {
    /// The number of periods in the device when the next one is written. More periods add latency but tolerate longer
    /// delays of the thread. Each underrun adds one.
    private static let queuedPeriods = 2...6

    /// The assumed latency before the device has reported one.
    static let assumedLatency = TimeSpan.milliseconds(40)

    /// The allowance for the jitter of decoded audio.
    private static let margin = TimeSpan.milliseconds(5)

    /// The time without a write after which the device counts as failed.
    private static let timeout = TimeSpan.seconds(2)
    private static let retryInterval: Int32 = 20

    /// The number of restarts without audio after which the device counts as failed.
    private static let maximumStarts = 20

    private let playedAudio: PlayedAudio
    private var audio = AudioSchedule()
    private var statistics = AudioOutputStatistics()
    private var lead = assumedLatency
    private var gain: Float = 1

    // The state of the current device.
    private var clock = SampleClock(rate: AudioFrame.sampleRate)
    private var tap: PlayedAudioReporter
    private var timekeeper = PlaybackTimekeeper(rate: AudioFrame.sampleRate, buffer: 1, queued: 0)
    private var written: Int64 = 0
    private var lastWritten = Instant(nanoseconds: 0)
    /// The number of restarts since the last audio was written.
    private var starts = 0
    private var queuedPeriods = AudioPlayback.queuedPeriods.lowerBound
    /// The time for which the device has enough audio although it reports that it is ready. ALSA's PulseAudio plugin
    /// does so whenever it has space, and polling it continuously stops its playback, because it shares a lock with its
    /// own thread.
    private var rest: TimeSpan?
    private var samples: [Float] = []
    private var chunk: [Int16] = []

    /// Creates the loop. What it plays is recorded in `playedAudio`.
    init(_ playedAudio: PlayedAudio) {
        self.playedAudio = playedAudio
        tap = PlayedAudioReporter(rate: AudioFrame.sampleRate, writer: PlayedAudioWriter(of: playedAudio))
    }

    /// Plays until the device is signalled or fails. Returns the failure; nil if it was signalled. `volume` returns the
    /// current volume from 0 to 1. `next` returns the next order, or nil if there is none. `onLead` receives the required
    /// lead time and the statistics.
    mutating func run(
        on pcm: PlaybackPCM, volume: () -> Double, next: () -> AudioOrder?,
        onLead: (TimeSpan, AudioOutputStatistics) -> Void
    ) -> PlaybackFailure? {
        AudioPriority.request()
        clock = SampleClock(rate: pcm.rate)
        tap = PlayedAudioReporter(rate: pcm.rate, writer: PlayedAudioWriter(of: playedAudio))
        starts = 0
        let size = pcm.rate / 100 * PlaybackPCM.channels
        samples = Array(repeating: 0, count: size)
        chunk = Array(repeating: 0, count: size)
        do throws(PlaybackFailure) {
            try begin(on: pcm)
            while try step(on: pcm, volume, next) { onLead(lead, statistics) }
            return nil
        } catch {
            return error
        }
    }

    /// Starts the device with silence in its buffer.
    private mutating func begin(on pcm: PlaybackPCM) throws(PlaybackFailure) {
        starts += 1
        try pcm.prepare()
        clock.restart()
        tap.restart()
        written = 0
        lastWritten = MonotonicClock.now()
        for index in chunk.indices { chunk[index] = 0 }
        let queued = queued(on: pcm)
        try pcm.wake(at: queued)
        while written < Int64(queued) { guard try put(on: pcm) else { break } }
        try pcm.start()
        timekeeper = PlaybackTimekeeper(rate: pcm.rate, buffer: pcm.buffer, queued: queued)
    }

    /// Returns the number of samples per channel that remain in the device when the next are written.
    private func queued(on pcm: PlaybackPCM) -> Int { min(pcm.period * queuedPeriods, pcm.buffer - pcm.period) }

    /// Writes the chunk; what exceeds the device's space is dropped. Returns false if nothing was written.
    private mutating func put(on pcm: PlaybackPCM) throws(PlaybackFailure) -> Bool {
        let count = try chunk.withUnsafeBufferPointer { samples throws(PlaybackFailure) in try pcm.write(samples) }
        guard count > 0 else { return false }
        written += Int64(count)
        lastWritten = MonotonicClock.now()
        tap.put(chunk[..<(count * PlaybackPCM.channels)], clock: clock)
        return true
    }

    /// Waits, then writes to the device. Returns false if it was signalled.
    private mutating func step(
        on pcm: PlaybackPCM, _ volume: () -> Double, _ next: () -> AudioOrder?
    ) throws(PlaybackFailure) -> Bool {
        let pause = timekeeper.pause(written: written, at: MonotonicClock.now()) ?? rest
        rest = nil
        let limit = (pause ?? Self.timeout).milliseconds.rounded(.up)
        if try pcm.wait(milliseconds: Int32(limit), isPaced: pause != nil) == .signalled { return false }
        var status = try pcm.readStatus()
        switch status.state {
        case SND_PCM_STATE_RUNNING: break
        case SND_PCM_STATE_SUSPENDED: return try resume(pcm)
        case SND_PCM_STATE_DISCONNECTED: throw PlaybackFailure(code: -ENODEV)
        default: return try restart(pcm)
        }
        guard timekeeper.time(&status, written: written, at: MonotonicClock.now()) else { return true }
        clock.observe(position: written - Int64(status.delay), at: status.instant)
        while let order = next() {
            switch order {
            case .play(let frame, let due): audio.add(frame, due: due)
            case .discardPending: audio.discardPending()
            }
        }
        do throws(PlaybackFailure) {
            try feed(pcm, available: status.available, volume: Float(volume()))
        } catch {
            guard error.isInterruption else { throw error }
        }
        if MonotonicClock.now() - lastWritten > Self.timeout { throw PlaybackFailure(code: -ETIMEDOUT) }
        return true
    }

    private mutating func feed(_ pcm: PlaybackPCM, available: Int, volume: Float) throws(PlaybackFailure) {
        let size = chunk.count / PlaybackPCM.channels
        var available = available
        let queued = queued(on: pcm)
        let surplus = pcm.buffer - available - queued
        if surplus > 0 { rest = max(.milliseconds(1), TimeSpan(seconds: Double(surplus) / Double(pcm.rate))) }
        while available >= size, pcm.buffer - available <= queued {
            try write(on: pcm, volume: volume)
            available -= size
        }
    }

    /// Writes the audio that is due next.
    private mutating func write(on pcm: PlaybackPCM, volume: Float) throws(PlaybackFailure) {
        let size = chunk.count / PlaybackPCM.channels
        guard let start = clock.instant(of: Double(written)),
            let end = clock.instant(of: Double(written) + Double(size))
        else { return }
        samples.withUnsafeMutableBufferPointer { _ = audio.read(from: start, to: end, into: $0) }
        for index in 0..<size {
            gain += min(max(volume - gain, -0.002), 0.002)
            for channel in 0..<PlaybackPCM.channels {
                let sample = samples[index * PlaybackPCM.channels + channel] * gain * 32_768
                chunk[index * PlaybackPCM.channels + channel] = Int16(min(max(sample.rounded(), -32_768), 32_767))
            }
        }
        guard try put(on: pcm) else { return }
        starts = 0
        note(latency: end - MonotonicClock.now())
    }

    private mutating func note(latency: TimeSpan) {
        // The lead time grows at once with the latency, and shrinks by 0.4 ms per second.
        lead = max(latency + Self.margin, lead - .microseconds(4))
        statistics.latency = latency
        statistics.drift = clock.drift
        statistics.samplesPlayed = audio.samplesPlayed
        statistics.samplesSkipped = audio.samplesSkipped
        statistics.breaks = audio.breaks
    }

    // MARK: Restarts

    /// Restarts the device after an underrun. Throws the failure if it restarts too often.
    private mutating func restart(_ pcm: PlaybackPCM) throws(PlaybackFailure) -> Bool {
        statistics.xruns += 1
        queuedPeriods = min(queuedPeriods + 1, Self.queuedPeriods.upperBound)
        guard starts < Self.maximumStarts else { throw PlaybackFailure(code: -EIO) }
        try begin(on: pcm)
        return true
    }

    /// Restarts the device after the system was suspended. Returns false if it was signalled.
    private mutating func resume(_ pcm: PlaybackPCM) throws(PlaybackFailure) -> Bool {
        while !pcm.resume() {
            if try pcm.wait(milliseconds: Self.retryInterval, isPaced: true) == .signalled { return false }
        }
        return try restart(pcm)
    }
}

/// Paces devices without a clock, such as alsa-lib's `file` and `null`, which consume audio at once. It reads no clock;
/// the caller passes the time.
struct PlaybackTimekeeper {
    /// The number of checks that find an empty buffer before the device counts as one without a clock. A real device
    /// would have reported an underrun.
    private static let timeout = 3
    private static let lookInterval = TimeSpan.milliseconds(4)

    private let rate: Int
    private let buffer: Int
    private let queued: Int
    private var emptyLooks = 0
    private var start: Instant?

    /// Whether the device has a clock; nil before that is known.
    private var hasClock: Bool?

    /// Creates a timekeeper.
    ///
    /// - Parameters:
    ///   - rate: The sample rate of the device.
    ///   - buffer: The size of its buffer in samples per channel.
    ///   - queued: The number of remaining samples per channel at which more is written.
    init(rate: Int, buffer: Int, queued: Int) {
        self.rate = rate
        self.buffer = buffer
        self.queued = queued
    }

    /// Returns the time to wait before the next write; nil if the device has its own clock.
    func pause(written: Int64, at now: Instant) -> TimeSpan? {
        guard let hasClock else { return Self.lookInterval }
        if hasClock { return nil }
        return max(
            .milliseconds(1), TimeSpan(seconds: Double(left(of: written, at: now) - Int64(queued)) / Double(rate)))
    }

    /// Replaces the delay in a status with that of an ideal clock if the device has none. Returns false while it is
    /// unknown whether it has one.
    mutating func time(_ status: inout PlaybackPCM.Status, written: Int64, at now: Instant) -> Bool {
        start = start ?? now
        if hasClock == nil {
            let isEmpty = status.available == buffer && status.delay == 0
            emptyLooks += 1
            hasClock = isEmpty ? (emptyLooks < Self.timeout ? nil : false) : true
        }
        guard hasClock == false else { return hasClock == true }
        let left = Int(max(0, left(of: written, at: now)))
        status.delay = left
        status.available = max(0, buffer - left)
        status.instant = now
        return true
    }

    private func left(of written: Int64, at now: Instant) -> Int64 {
        written - Int64((now - (start ?? now)).seconds * Double(rate))
    }
}

/// Reports a device's audio to `PlayedAudio` as reference for echo cancellation, resampled to the system clock. The
/// microphone is captured on the system clock, so that the device's clock deviation would make the echo path drift. It
/// reads no clock; the caller passes the time.
struct PlayedAudioReporter {
    /// The duration of a chunk that is reported.
    private static let length = TimeSpan.milliseconds(10)

    /// The number of chunks over which a deviation from the clock is corrected.
    private static let timeout = 200.0

    private var line: FractionalResampler
    private var mixed: [Float] = []
    private var read: [Float]
    private var samples: [Int16]

    /// The position in the device's audio at which the next chunk starts, and the time at which that is played; nil at
    /// the start.
    private var nextSample = 0.0
    private var next: Instant?

    private let writer: PlayedAudioWriter

    /// Creates a tap.
    ///
    /// - Parameters:
    ///   - rate: The sample rate of the device.
    ///   - writer: The receiver of the audio.
    init(rate: Int, writer: PlayedAudioWriter) {
        self.writer = writer
        line = FractionalResampler(channels: 1, step: Double(rate) / Double(AudioFrame.sampleRate))
        let count = Int(ClockRate.opus.ticks(in: Self.length))
        read = Array(repeating: 0, count: count)
        samples = Array(repeating: 0, count: count)
    }

    /// Restarts after the device was restarted, because its sample count starts again at zero.
    mutating func restart() {
        line.restart()
        nextSample = 0
        next = nil
    }

    /// Adds interleaved stereo audio that was written to the device.
    mutating func put(_ samples: ArraySlice<Int16>, clock: SampleClock) {
        mixed.removeAll(keepingCapacity: true)
        for index in stride(from: samples.startIndex, to: samples.endIndex - 1, by: 2) {
            mixed.append((Float(samples[index]) + Float(samples[index + 1])) / 2)
        }
        mixed.withUnsafeBufferPointer { line.append($0) }
        while notify(clock) {}
    }

    /// Reports the next chunk. Returns false if that requires more audio.
    private mutating func notify(_ clock: SampleClock) -> Bool {
        guard let start = next ?? clock.instant(of: nextSample), let target = clock.position(at: start),
            let end = clock.position(at: start + Self.length)
        else { return false }
        // Corrections of the clock are applied gradually, unless the deviation is large.
        if abs(target - nextSample) > PlayedAudioWriter.tolerance.seconds * clock.rate {
            next = clock.instant(of: nextSample)
            return next != nil
        }
        let step = (end - target + (target - nextSample) / Self.timeout) / Double(read.count)
        guard nextSample + step * Double(read.count) <= line.lastPosition else { return false }
        read.withUnsafeMutableBufferPointer { line.read(from: nextSample, step: step, into: $0) }
        for index in read.indices { samples[index] = Int16(min(max(read[index].rounded(), -32_768), 32_767)) }
        samples.withUnsafeBufferPointer { writer.play($0, channels: 1, from: start) }
        nextSample += step * Double(read.count)
        next = start + Self.length
        line.discard(before: nextSample)
        return true
    }
}
