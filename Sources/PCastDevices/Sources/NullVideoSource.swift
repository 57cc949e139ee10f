package import PCastCodecs
package import PCastCore
import PCastIO

/// Black frames at a constant rate.
package final class NullVideoSource: VideoSource {
    /// The size of the frames.
    package let dimensions: Dimensions
    /// The frame rate in frames per second.
    package let nominalFrameRate: Double
    private let pace = PacedThread()

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - dimensions: The size of the frames, even numbers.
    ///   - frameRate: The frame rate, 1 to 240.
    package init(dimensions: Dimensions = Dimensions(width: 1_280, height: 720), frameRate: Int = 30) {
        precondition((1...240).contains(frameRate), "the frame rate must be valid")
        self.dimensions = dimensions
        nominalFrameRate = Double(frameRate)
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
        let black = VideoFramePool().frame(
            dimensions: dimensions, captureTime: origin, timestamp: MediaTime(ticks: 0, rate: .video))
        FrameCanvas(black.memory, dimensions: dimensions).fill(
            left: 0, top: 0, right: dimensions.width, bottom: dimensions.height, colour: .black)
        try pace.start(
            name: "null-video", from: reference.instant, due: { rate.span(ofTicks: $0) }, timeout: .milliseconds(200)
        ) { _, due in
            let frame = black.retimed(
                captureTime: origin + due,
                timestamp: MediaTime(ticks: ClockRate.video.ticks(in: due), rate: .video))
            deliver(.frame(frame))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
}

/// A video source.
package protocol VideoSource: MediaSource where Sample == VideoSample {
    /// The size of its frames. It can change for an address.
    var dimensions: Dimensions { get }

    /// The frame rate that the source reports, in frames per second. It does not control timing, because cameras
    /// deliver fewer frames in the dark.
    var nominalFrameRate: Double { get }

    /// The reason why encoded frames are decoded although pass-through was requested; nil while they are passed
    /// through, or if the source does not encode.
    var transcodeReason: TranscodeReason? { get }
}

extension VideoSource {
    /// The source as a `MediaSource`. The compiler does not convert `any VideoSource` implicitly.
    var mediaSource: any MediaSource<VideoSample> { self }

    /// nil, for a source that does not encode.
    package var transcodeReason: TranscodeReason? { nil }
}

/// A sample of a video source.
package enum VideoSample: Sendable {
    case frame(VideoFrame)

    /// A frame that the camera or the file has encoded, without B-frames.
    case coded(EncodedFrame)
}

/// A source of video or audio: a device, a file, or a generator.
package protocol MediaSource<Sample>: AnyObject, Sendable {
    associatedtype Sample: Sendable

    /// Starts to deliver samples. It can be called only once.
    ///
    /// - Parameters:
    ///   - deliver: A callback for each sample, on the source's thread, at its time. It must not block.
    ///   - ended: A callback for the end of the source, on its thread. It is called at most once, and never after
    ///     `stop`.
    /// - Throws: `DeviceError` if the source does not start.
    func start(
        deliver: @escaping @Sendable (Sample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError)

    /// Stops delivery, releases the device, and waits until a running callback has returned, except when a callback
    /// calls it. It may be called repeatedly and before `start`.
    func stop()
}

/// The reason why a source ended without being stopped.
package enum SourceEnd: Hashable, Sendable {
    /// A file was played to its end, or the publisher ended the stream.
    case ended

    /// The device disappeared for this reason, and may come back.
    case vanished(String)

    /// The device or the connection failed, for this reason.
    case failed(String)
}

/// An audio source. It delivers frames of 20 ms at 48 kHz, each at the time of its last sample.
package protocol AudioSource: MediaSource where Sample == AudioFrame {
    /// The number of channels, 1 or 2.
    var channels: Int { get }
}

extension AudioSource {
    /// The source as a `MediaSource`. The compiler does not convert `any AudioSource` implicitly.
    var mediaSource: any MediaSource<AudioFrame> { self }
}

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
