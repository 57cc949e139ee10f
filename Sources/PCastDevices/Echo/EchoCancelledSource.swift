public import PCastCore
import PCastIO

/// An audio source with echo cancellation of the audio that this process plays.
public final class EchoCancelledSource: AudioSource {
    private let source: any AudioSource

    /// The echo canceller, with its mode and its status.
    public let canceller: EchoCanceller

    /// The number of channels.
    public var channels: Int { source.channels }

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - source: A microphone that was not started.
    ///   - mode: The echo cancellation mode. The `canceller` can change it later.
    public init(_ source: any AudioSource, mode: AudioEchoCancellationMode) {
        self.source = source
        canceller = EchoCanceller(channels: source.channels, mode: mode)
    }

    /// Starts the microphone. `deliver` receives audio without echo, `ended` the end of the source. Throws
    /// `DeviceError` if it does not start.
    public func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let canceller = canceller
        try source.start(
            deliver: { frame in
                // The source has just read both clocks for this frame.
                let clocks = MonotonicClock.reference()
                let captured = frame.captureTime.map { clocks.instant(at: $0) } ?? clocks.instant - frame.length
                deliver(canceller.process(frame, capturedAt: captured))
            }, ended: ended)
    }

    /// Stops the microphone.
    public func stop() { source.stop() }
}
