import PCastCodecs
import PCastCore

/// Crops an odd last column or row from frames, because encoders of 4:2:0 require even sizes.
struct EvenFrames {
    private let pool = VideoFramePool()

    static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(2, dimensions.width & ~1), height: max(2, dimensions.height & ~1))
    }

    /// Returns the cropped frame; the same frame if its size is even.
    func even(_ picture: VideoFrame) -> VideoFrame {
        let dimensions = Self.even(picture.dimensions)
        guard dimensions != picture.dimensions else { return picture }
        let frame = pool.frame(
            dimensions: dimensions, captureTime: picture.captureTime, timestamp: picture.timestamp,
            color: picture.color)
        let (width, height) = (min(dimensions.width, picture.dimensions.width), dimensions.height)
        for row in 0..<min(height, picture.dimensions.height) {
            (frame.planeY + row * frame.strideY).update(from: picture.planeY + row * picture.strideY, count: width)
        }
        for row in 0..<min(height, picture.dimensions.height + 1) / 2 {
            let (target, origin) = (row * frame.strideUV, row * picture.strideUV)
            (frame.planeU + target).update(from: picture.planeU + origin, count: (width + 1) / 2)
            (frame.planeV + target).update(from: picture.planeV + origin, count: (width + 1) / 2)
        }
        return frame
    }
}
