import PCastCodecs
import PCastCore
import PCastDevices
import Synchronization

/// A video source that drops frames evenly to reduce the frame rate.
final class DecimatedVideoSource: VideoSource {
    private let source: any VideoSource
    private let rate: Double
    private let thinning = Mutex(FrameDecimation())

    init(_ source: any VideoSource, rate: Double) {
        self.source = source
        self.rate = rate
    }

    var dimensions: Dimensions { source.dimensions }

    var nominalFrameRate: Double { min(source.nominalFrameRate, rate) }

    var transcodeReason: TranscodeReason? { source.transcodeReason }

    func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let share = rate / max(source.nominalFrameRate, 1)
        try source.start(
            deliver: { [self] sample in
                if thinning.withLock({ $0.takes(share) }) { deliver(sample) }
            }, ended: ended)
    }

    func stop() { source.stop() }
}
