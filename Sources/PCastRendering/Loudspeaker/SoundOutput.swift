public import PCastMedia
import Synchronization

/// Where sound goes, each frame to be heard at its instant: a loudspeaker, or nowhere.
public protocol SoundOutput: AnyObject, Sendable {
    /// How long before it is heard sound must be there.
    var lead: TimeSpan { get }

    /// 0 to 1, of the samples' height.
    var volume: Double { get set }

    /// Lets sound be heard from an instant on; never blocks.
    func present(_ frame: AudioFrame, at due: Instant)

    /// What was presented is not heard any more, but for what the device has already.
    func withdraw()

    /// Silent at once. Harmless when called again.
    func stop()
}

/// Nobody hears it.
public final class NullSoundOutput: SoundOutput {
    private let loudness = Mutex(1.0)

    public init() {}

    public var lead: TimeSpan { .zero }

    public var volume: Double {
        get { loudness.withLock { $0 } }
        set { loudness.withLock { $0 = min(max(newValue, 0), 1) } }
    }

    public func present(_ frame: AudioFrame, at due: Instant) {}

    public func withdraw() {}

    public func stop() {}
}
