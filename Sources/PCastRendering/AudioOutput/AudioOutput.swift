public import PCastCore
import Synchronization

/// A destination for audio with presentation times: an audio device, or nothing.
public protocol AudioOutput: AnyObject, Sendable {
    /// The time before its presentation time at which audio must be delivered.
    var lead: TimeSpan { get }

    /// The volume as a factor of the amplitude, 0 to 1.
    var volume: Double { get set }

    /// Plays audio at a presentation time. It never blocks.
    func present(_ frame: AudioFrame, at due: Instant)

    /// Discards audio that was not yet written to the device.
    func discardPending()

    /// Stops at once. It may be called repeatedly.
    func stop()
}

/// An output that discards all audio.
public final class NullAudioOutput: AudioOutput {
    private let loudness = Mutex(1.0)

    /// Creates an output.
    public init() {}

    /// The time before its presentation time at which audio must be delivered; zero.
    public var lead: TimeSpan { .zero }

    /// The volume, 0 to 1, which has no effect.
    public var volume: Double {
        get { loudness.withLock { $0 } }
        set { loudness.withLock { $0 = min(max(newValue, 0), 1) } }
    }

    /// Discards the audio.
    public func present(_ frame: AudioFrame, at due: Instant) {}

    /// Does nothing.
    public func discardPending() {}

    /// Does nothing.
    public func stop() {}
}
