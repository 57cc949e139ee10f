import PCastCodecs
package import PCastCore

/// Black frames at a constant rate.
package final class NullVideoSource: VideoSource {
    private let frames: PacedVideo

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - dimensions: The size of the frames, even numbers.
    ///   - frameRate: The frame rate, 1 to 240.
    package init(dimensions: Dimensions = Dimensions(width: 1_280, height: 720), frameRate: Int = 30) {
        frames = PacedVideo(dimensions: dimensions, frameRate: frameRate)
    }

    init(_ configuration: VideoConfiguration) { frames = PacedVideo(configuration) }

    /// The size of the frames.
    package var dimensions: Dimensions { frames.dimensions }

    /// The frame rate in frames per second.
    package var nominalFrameRate: Double { Double(frames.frameRate) }

    /// Starts to deliver frames. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let black = VideoFramePool().frame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        FrameCanvas(black.memory, dimensions: dimensions).fill(
            left: 0, top: 0, right: dimensions.width, bottom: dimensions.height, colour: .black)
        try frames.start(name: "null-video", deliver: deliver) { _, captureTime, timestamp in
            black.retimed(captureTime: captureTime, timestamp: timestamp)
        }
    }

    /// Stops delivery.
    package func stop() { frames.stop() }
}

/// Silence in frames of 20 ms.
package final class NullAudioSource: AudioSource {
    private let frames: PacedAudio

    /// Creates a source with 1 or 2 channels.
    package init(channels: Int = 2) { frames = PacedAudio(channels: channels) }

    /// The number of channels, 1 or 2.
    package var channels: Int { frames.channels }

    /// Starts to deliver silence. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let silence = [Int16](repeating: 0, count: AudioFrameTiming.sampleCount * channels)
        try frames.start(name: "null-audio", timeout: .seconds(1), deliver: deliver) { _, _ in silence }
    }

    /// Stops delivery.
    package func stop() { frames.stop() }
}
