import PCastCodecs
import PCastCore

/// The black frames that replace those of a disconnected camera.
enum BlackFrame {
    static func substitute(_ dimensions: Dimensions, frameRate: Double)
        -> SwitchableSource<VideoSample>.SubstituteSample
    {
        let black = frame(dimensions)
        return SwitchableSource.SubstituteSample(
            interval: TimeSpan(seconds: 1 / max(1, frameRate)),
            sample: { time in
                .frame(black.retimed(captureTime: time, timestamp: MediaTime(ticks: 0, rate: .video)))
            })
    }

    static func frame(_ dimensions: Dimensions) -> VideoFrame {
        let frame = VideoFramePool(capacity: 0).frame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        FrameCanvas(frame.memory, dimensions: dimensions).fill(
            left: 0, top: 0, right: dimensions.width, bottom: dimensions.height, colour: .black)
        return frame
    }
}
