import Glibc
package import PCastCore
import Synchronization

/// The audio that this process plays, which echo cancellation removes from a microphone's input. It contains the last
/// seconds of all audio outputs, mixed to one channel at 48 kHz.
///
/// Each output records its audio with the time at which it is audible. Readers request audio by time. The position of a
/// sample is its instant in ticks of 48 kHz, so that writers and readers need not know each other's buffers. Calls hold
/// a lock only while they copy samples.
package final class PlayedAudio: Sendable {
    /// The audio of this process.
    package static let shared = PlayedAudio()

    /// The duration of the stored audio, before the last recorded sample. That sample may not be audible yet.
    package static let length = ClockRate.opus.span(ofTicks: Int64(PlayedAudioRing.capacity))

    /// The duration of silence after which nothing is considered to be playing.
    static let timeout = TimeSpan.seconds(1)

    private let ring = Mutex(PlayedAudioRing())

    /// Creates empty audio.
    package init() {}

    /// Returns whether audio other than silence was audible in the second before `instant`.
    package func isPlaying(at instant: Instant) -> Bool {
        let end = Self.position(at: instant)
        let start = Self.position(at: instant - Self.timeout)
        return ring.withLock { $0.hasAudio(from: start, to: end) }
    }

    /// Returns samples from `instant` on. They are silent where nothing was played or stored.
    package func read(from instant: Instant, count: Int) -> [Int16] {
        Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            read(from: Self.position(at: instant), into: UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
            initialized = count
        }
    }

    /// Fills `samples` with the audio from `position` on. It is silent where nothing was played or stored. It allocates
    /// no memory.
    package func read(from position: Int64, into samples: UnsafeMutableBufferPointer<Int16>) {
        ring.withLock { $0.read(from: position, into: samples) }
    }

    /// Returns the position of the sample that is audible at `instant`, in ticks of 48 kHz since the clock's origin.
    package static func position(at instant: Instant) -> Int64 {
        ClockRate.opus.ticks(in: TimeSpan(nanoseconds: instant.nanoseconds))
    }

    func mix(_ samples: UnsafeBufferPointer<Int16>, channels: Int, at position: Int64) {
        ring.withLock { $0.mix(samples, channels: channels, at: position) }
    }
}

/// A writer of `PlayedAudio`, which corresponds to one audio output.
///
/// The instants that a writer reports have jitter, because they are computed from the delay of a device. Audio that was
/// placed at these instants would have gaps and overlaps. Therefore each chunk continues the previous one. A chunk is
/// only placed at its instant if that differs by more than `tolerance`, such as after an underrun or a pause.
package final class PlayedAudioWriter: Sendable {
    /// The maximum difference between a chunk's instant and the end of the previous chunk at which it still continues
    /// that chunk.
    package static let tolerance = TimeSpan.milliseconds(10)

    private let playedAudio: PlayedAudio

    /// The position at which a continuing chunk begins; nil before the first.
    private let end = Mutex<Int64?>(nil)

    /// Creates a writer of `playedAudio`. By default it is all audio that this process plays.
    package init(of playedAudio: PlayedAudio = .shared) { self.playedAudio = playedAudio }

    /// Records played audio. It must be called for each chunk that is passed to the device before the chunk is audible.
    /// It holds a lock only while it copies the samples.
    ///
    /// - Parameters:
    ///   - samples: Signed 16-bit samples at 48 kHz with interleaved channels, in chunks of about 10 ms.
    ///   - channels: The number of channels, which are averaged.
    ///   - instant: The time at which the first sample leaves the device, as far as it is known.
    package func play(_ samples: UnsafeBufferPointer<Int16>, channels: Int, from instant: Instant) {
        let position = PlayedAudio.position(at: instant)
        let start = end.withLock { end in
            var start = position
            if let end, abs(position - end) <= ClockRate.opus.ticks(in: Self.tolerance) { start = end }
            end = start + Int64(samples.count / channels)
            return start
        }
        playedAudio.mix(samples, channels: channels, at: start)
    }
}

/// The samples of `PlayedAudio`: a ring buffer of fixed length that moves forward when audio is added at its end.
struct PlayedAudioRing {
    /// The number of samples (2.7 s). It is a power of two, so that the index of a sample consists of bits of its
    /// position.
    static let capacity = 1 << 17

    /// The maximum absolute sample value that counts as silence (about -72 dBFS), which decoders produce as noise.
    private static let silenceLimit = 8

    /// The number of samples that share a flag for silence (5.3 ms).
    private static let blockLength = 256

    private var samples = [Int16](repeating: 0, count: capacity)
    private var isLoud = [Bool](repeating: false, count: capacity / blockLength)

    /// The position after the last recorded sample; nil before the first.
    private var end: Int64?

    /// Mixes audio into the buffer with saturation. Channels are averaged. Audio before the buffer is dropped. If it is
    /// further away than the length of the buffer, as after a long pause or a wrong time, the buffer restarts there.
    mutating func mix(_ audio: UnsafeBufferPointer<Int16>, channels: Int, at position: Int64) {
        precondition(channels > 0 && audio.count.isMultiple(of: channels))
        let count = audio.count / channels
        extend(from: position, to: position + Int64(count))
        let oldest = end! - Int64(Self.capacity)
        for index in 0..<count where position + Int64(index) >= oldest {
            var sum = 0
            for channel in 0..<channels { sum += Int(audio[index * channels + channel]) }
            let sample = sum / channels
            let slot = Self.slot(of: position + Int64(index))
            samples[slot] = Int16(clamping: Int(samples[slot]) + sample)
            if abs(sample) > Self.silenceLimit { isLoud[slot / Self.blockLength] = true }
        }
    }

    /// Reads samples, which are silent where nothing is stored.
    func read(from position: Int64, into target: UnsafeMutableBufferPointer<Int16>) {
        let end = end ?? .min
        let oldest = end &- Int64(Self.capacity)
        for index in 0..<target.count {
            let ringPosition = position + Int64(index)
            target[index] = ringPosition >= oldest && ringPosition < end ? samples[Self.slot(of: ringPosition)] : 0
        }
    }

    /// Returns whether a block in the range is not silent.
    func hasAudio(from start: Int64, to end: Int64) -> Bool {
        guard let known = self.end else { return false }
        var ringPosition = max(start, known - Int64(Self.capacity))
        while ringPosition < min(end, known) {
            let slot = Self.slot(of: ringPosition)
            if isLoud[slot / Self.blockLength] { return true }
            ringPosition += Int64(Self.blockLength - slot % Self.blockLength)
        }
        return false
    }

    /// Moves the buffer, if necessary, so that it contains `newEnd`. New samples are silent.
    private mutating func extend(from start: Int64, to newEnd: Int64) {
        if end == nil || abs(start - end!) > Int64(Self.capacity) {
            for slot in samples.indices { samples[slot] = 0 }
            for block in isLoud.indices { isLoud[block] = false }
            end = start
        }
        for ringPosition in end!..<max(end!, newEnd) {
            let slot = Self.slot(of: ringPosition)
            samples[slot] = 0
            if slot.isMultiple(of: Self.blockLength) { isLoud[slot / Self.blockLength] = false }
        }
        end = max(end!, newEnd)
    }

    private static func slot(of position: Int64) -> Int { Int(position) & (capacity - 1) }
}

/// The scheduling of threads that serve an audio device, whose buffer has only 40 ms.
package enum AudioPriority {
    /// The priority of 1 to 99: above all normal threads, below the kernel and audio servers.
    private static let level: Int32 = 5

    /// `SCHED_RESET_ON_FORK` (sched(7)), which Swift's Glibc module lacks. Threads that this one starts have normal
    /// scheduling.
    private static let notInherited: Int32 = 0x4000_0000

    /// Requests real-time scheduling (`SCHED_RR`) for the calling thread. It has no effect without permission (`ulimit
    /// -r`).
    package static func request() {
        var parameters = sched_param()
        parameters.sched_priority = level
        _ = sched_setscheduler(0, SCHED_RR | notInherited, &parameters)
    }
}
