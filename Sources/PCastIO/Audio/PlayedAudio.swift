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
