package import PCastCore
import Synchronization

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
