import PCastCodecs
import PCastCore

/// Crops an odd last column or row from frames, because encoders of 4:2:0 require even sizes.
struct EvenSizeCropper {
    private let pool = VideoFramePool()

    static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(2, dimensions.width & ~1), height: max(2, dimensions.height & ~1))
    }

    /// Returns the cropped frame; the same frame if its size is even.
    func even(_ videoFrame: VideoFrame) -> VideoFrame {
        let dimensions = Self.even(videoFrame.dimensions)
        guard dimensions != videoFrame.dimensions else { return videoFrame }
        let frame = pool.frame(
            dimensions: dimensions, captureTime: videoFrame.captureTime, timestamp: videoFrame.timestamp,
            color: videoFrame.color)
        let (width, height) = (min(dimensions.width, videoFrame.dimensions.width), dimensions.height)
        for row in 0..<min(height, videoFrame.dimensions.height) {
            (frame.planeY + row * frame.strideY).update(
                from: videoFrame.planeY + row * videoFrame.strideY, count: width)
        }
        for row in 0..<min(height, videoFrame.dimensions.height + 1) / 2 {
            let (target, origin) = (row * frame.strideUV, row * videoFrame.strideUV)
            (frame.planeU + target).update(from: videoFrame.planeU + origin, count: (width + 1) / 2)
            (frame.planeV + target).update(from: videoFrame.planeV + origin, count: (width + 1) / 2)
        }
        return frame
    }
}
