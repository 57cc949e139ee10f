import CALSA
import PCastIO
import PCastMedia

/// The body of a loudspeaker's thread: keeps the device fed with what is due when it will be heard, or silence, and gets it
/// going again when it ran dry.
struct SoundPlayback {
    /// Periods that are left to play when the next is written: the more, the later sound is heard, and the longer the thread
    /// may be kept waiting. Each time that the device runs dry there is one more.
    private static let queuedPeriods = 2...6

    /// Until the device has told how long sound takes through it.
    static let firstLead = TimeSpan.milliseconds(40)

    /// What comes from a decoder comes some milliseconds early or late.
    private static let margin = TimeSpan.milliseconds(5)

    /// A device that takes nothing for this long has failed.
    private static let patience = TimeSpan.seconds(2)
    private static let retryInterval: Int32 = 20

    /// A device that runs dry as often as this without putting anything out has failed.
    private static let mostStarts = 20

    private var sound = DueSound()
    private var statistics = LoudspeakerStatistics()
    private var lead = firstLead
    private var gain: Float = 1

    // Of the device that is played on.
    private var clock = SampleClock(rate: AudioFrame.sampleRate)
    private var tap = PlayedTap(rate: AudioFrame.sampleRate, loudspeaker: Loudspeaker())
    private var timekeeper = PlaybackTimekeeper(rate: AudioFrame.sampleRate, buffer: 1, queued: 0)
    private var written: Int64 = 0
    private var lastWritten = Instant(nanoseconds: 0)
    /// Since sound was last put out.
    private var starts = 0
    private var queuedPeriods = SoundPlayback.queuedPeriods.lowerBound
    /// How long a device has enough that said nevertheless that it is ready. ALSA's plugin for PulseAudio does whenever it
    /// has room, and asking it again at once, again and again, keeps it from playing (it shares a lock with its own thread).
    private var rest: TimeSpan?
    private var samples: [Float] = []
    private var chunk: [Int16] = []

    /// Plays until the device is signalled, which is answered with nil, or fails.
    ///
    /// - Parameters:
    ///   - volume: 0 to 1.
    ///   - next: what has come; nil when there is nothing.
    ///   - told: gets how long sound must be there before it is heard, and what was done.
    mutating func run(
        on pcm: PlaybackPCM, volume: () -> Double, next: () -> SoundOrder?,
        told: (TimeSpan, LoudspeakerStatistics) -> Void
    ) -> PlaybackFailure? {
        SoundPriority.request()
        clock = SampleClock(rate: pcm.rate)
        tap = PlayedTap(rate: pcm.rate, loudspeaker: Loudspeaker())
        starts = 0
        let size = pcm.rate / 100 * PlaybackPCM.channels
        samples = Array(repeating: 0, count: size)
        chunk = Array(repeating: 0, count: size)
        do throws(PlaybackFailure) {
            try begin(on: pcm)
            while try step(on: pcm, volume, next) { told(lead, statistics) }
            return nil
        } catch {
            return error
        }
    }

    /// Starts the device with silence in it.
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

    /// Samples that are left to play when the next are written.
    private func queued(on pcm: PlaybackPCM) -> Int { min(pcm.period * queuedPeriods, pcm.buffer - pcm.period) }

    /// Writes the chunk; what finds no room is left out. Answers false when nothing did.
    private mutating func put(on pcm: PlaybackPCM) throws(PlaybackFailure) -> Bool {
        let count = try chunk.withUnsafeBufferPointer { samples throws(PlaybackFailure) in try pcm.write(samples) }
        guard count > 0 else { return false }
        written += Int64(count)
        lastWritten = MonotonicClock.now()
        tap.put(chunk[..<(count * PlaybackPCM.channels)], clock: clock)
        return true
    }

    /// Waits, and feeds the device. Answers false when signalled.
    private mutating func step(
        on pcm: PlaybackPCM, _ volume: () -> Double, _ next: () -> SoundOrder?
    ) throws(PlaybackFailure) -> Bool {
        let pause = timekeeper.pause(written: written, at: MonotonicClock.now()) ?? rest
        rest = nil
        let limit = (pause ?? Self.patience).milliseconds.rounded(.up)
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
            case .play(let frame, let due): sound.add(frame, due: due)
            case .withdraw: sound.withdraw()
            }
        }
        do throws(PlaybackFailure) {
            try feed(pcm, room: status.room, volume: Float(volume()))
        } catch {
            guard error.isInterruption else { throw error }
        }
        if MonotonicClock.now() - lastWritten > Self.patience { throw PlaybackFailure(code: -ETIMEDOUT) }
        return true
    }

    private mutating func feed(_ pcm: PlaybackPCM, room: Int, volume: Float) throws(PlaybackFailure) {
        let size = chunk.count / PlaybackPCM.channels
        var room = room
        let queued = queued(on: pcm)
        let surplus = pcm.buffer - room - queued
        if surplus > 0 { rest = max(.milliseconds(1), TimeSpan(seconds: Double(surplus) / Double(pcm.rate))) }
        while room >= size, pcm.buffer - room <= queued {
            try write(on: pcm, volume: volume)
            room -= size
        }
    }

    /// Writes what is to be heard next.
    private mutating func write(on pcm: PlaybackPCM, volume: Float) throws(PlaybackFailure) {
        let size = chunk.count / PlaybackPCM.channels
        guard let start = clock.instant(of: Double(written)),
            let end = clock.instant(of: Double(written) + Double(size))
        else { return }
        samples.withUnsafeMutableBufferPointer { _ = sound.read(from: start, to: end, into: $0) }
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
        // It grows at once when sound takes longer, and shrinks by 0.4 ms a second.
        lead = max(latency + Self.margin, lead - .microseconds(4))
        statistics.latency = latency
        statistics.drift = clock.drift
        statistics.samplesPlayed = sound.samplesPlayed
        statistics.samplesSkipped = sound.samplesSkipped
        statistics.breaks = sound.breaks
    }

    // MARK: Starting again

    /// After the device ran dry. Answers false when signalled.
    private mutating func restart(_ pcm: PlaybackPCM) throws(PlaybackFailure) -> Bool {
        statistics.xruns += 1
        queuedPeriods = min(queuedPeriods + 1, Self.queuedPeriods.upperBound)
        guard starts < Self.mostStarts else { throw PlaybackFailure(code: -EIO) }
        try begin(on: pcm)
        return true
    }

    /// After the machine slept. Answers false when signalled.
    private mutating func resume(_ pcm: PlaybackPCM) throws(PlaybackFailure) -> Bool {
        while !pcm.resume() {
            if try pcm.wait(milliseconds: Self.retryInterval, isPaced: true) == .signalled { return false }
        }
        return try restart(pcm)
    }
}
