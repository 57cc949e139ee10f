public import PCastMedia
import Synchronization

/// One writer of `PlayedSound`: what one device is given to play.
///
/// The instants that a writer can tell jitter (they come from a device's delay and a reading of the clock), and sound that
/// was placed by them would have holes and overlaps. So each chunk continues where the one before ended, and only when
/// its instant is off by more than `tolerance`, as after an underrun or a pause, it is placed by that.
public final class Loudspeaker: Sendable {
    /// How far from the end of the chunk before a chunk may claim to start, and still continues it.
    public static let tolerance = TimeSpan.milliseconds(10)

    private let sound: PlayedSound

    /// Where the next chunk starts if it continues; nil before the first.
    private let end = Mutex<Int64?>(nil)

    /// - Parameter sound: what it is part of; all that this process plays if not said.
    public init(of sound: PlayedSound = .shared) { self.sound = sound }

    /// Tells what is played. Call it for each chunk that is given to the device, before it is heard; it holds no lock
    /// for longer than copying takes.
    ///
    /// - Parameters:
    ///   - samples: signed 16-bit samples at 48 kHz, channels interleaved; a chunk of some 10 ms.
    ///   - channels: how many; they are averaged.
    ///   - instant: when the first sample leaves the device, as far as the writer knows.
    public func play(_ samples: UnsafeBufferPointer<Int16>, channels: Int, from instant: Instant) {
        let told = PlayedSound.position(at: instant)
        let start = end.withLock { end in
            var start = told
            if let end, abs(told - end) <= ClockRate.opus.ticks(in: Self.tolerance) { start = end }
            end = start + Int64(samples.count / channels)
            return start
        }
        sound.mix(samples, channels: channels, at: start)
    }
}
