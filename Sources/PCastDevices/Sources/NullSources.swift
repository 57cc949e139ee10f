import PCastCodecs
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

/// Silence in frames of 20 ms.
package final class NullAudioSource: AudioSource {
    /// The number of channels, 1 or 2.
    package let channels: Int
    private let pace = PacedThread()

    /// Creates a source with 1 or 2 channels.
    package init(channels: Int = 2) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
    }

    /// Starts to deliver silence. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let channels = channels
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        let silence = [Int16](repeating: 0, count: AudioFrameTiming.sampleCount * channels)
        try pace.start(name: "null-audio", from: reference.instant, due: AudioFrameTiming.due, timeout: .seconds(1)) {
            frameIndex, _ in
            let start = frameIndex * Int64(AudioFrameTiming.sampleCount)
            deliver(
                AudioFrame(
                    samples: silence, channels: channels, captureTime: origin + ClockRate.opus.span(ofTicks: start),
                    timestamp: MediaTime(ticks: start, rate: .opus)))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
}
