import PCastCodecs
package import PCastCore
import PCastIO

/// The test pattern at a constant rate. Its time strip contains the capture time of each frame.
package final class SyntheticVideoSource: VideoSource {
    /// The size of the frames.
    package let dimensions: Dimensions
    /// The frame rate in frames per second.
    package let nominalFrameRate: Double
    private let videoFrame: TestPattern
    private let pool: VideoFramePool
    private let pace = PacedThread()

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - dimensions: The size of the frames, at least 64 columns and 32 rows.
    ///   - frameRate: The frame rate, 1 to 240.
    package init(dimensions: Dimensions = Dimensions(width: 1_280, height: 720), frameRate: Int = 30) {
        precondition((1...240).contains(frameRate), "the frame rate must be valid")
        self.dimensions = dimensions
        nominalFrameRate = Double(frameRate)
        videoFrame = TestPattern(dimensions: dimensions)
        pool = VideoFramePool()
    }

    convenience init(_ configuration: VideoConfiguration) {
        self.init(
            dimensions: configuration.dimensions,
            frameRate: min(240, max(1, Int(configuration.frameRate.perSecond.rounded()))))
    }

    /// Starts to deliver frames. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let rate = ClockRate(hertz: Int64(nominalFrameRate))
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        let (videoFrame, pool) = (videoFrame, pool)
        try pace.start(
            name: "synthetic-video", from: reference.instant, due: { rate.span(ofTicks: $0) },
            timeout: .milliseconds(200)
        ) {
            frameIndex, due in
            let frame = pool.frame(
                dimensions: videoFrame.dimensions, captureTime: origin + due,
                timestamp: MediaTime(ticks: ClockRate.video.ticks(in: due), rate: .video))
            videoFrame.draw(counter: Int(frameIndex), captureTime: origin + due, into: frame)
            deliver(.frame(frame))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
}
