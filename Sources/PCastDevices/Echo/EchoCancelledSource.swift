import PCastIO
public import PCastMedia

/// A source of sound without the echo of what this process plays.
public final class EchoCancelledSource: AudioSource {
    private let source: any AudioSource

    /// Says when echo is cancelled, and what was found out about it.
    public let canceller: EchoCanceller

    public var channels: Int { source.channels }

    /// - Parameters:
    ///   - source: a microphone, not yet started.
    ///   - mode: when echo is cancelled; can be changed while it runs, at the `canceller`.
    public init(_ source: any AudioSource, mode: AudioEchoCancellationMode) {
        self.source = source
        canceller = EchoCanceller(channels: source.channels, mode: mode)
    }

    public func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let canceller = canceller
        try source.start(
            deliver: { frame in
                // The source has read both clocks a moment ago.
                let clocks = MonotonicClock.reference()
                let captured = frame.captureTime.map { clocks.instant(at: $0) } ?? clocks.instant - frame.length
                deliver(canceller.process(frame, capturedAt: captured))
            }, ended: ended)
    }

    public func stop() { source.stop() }
}
