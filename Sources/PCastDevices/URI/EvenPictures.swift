import PCastCodecs
import PCastMedia

/// Makes pictures of odd width or height even, which 4:2:0 encoders demand: by leaving the last column or row out.
struct EvenPictures {
    private let pool = VideoFramePool()

    static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(2, dimensions.width & ~1), height: max(2, dimensions.height & ~1))
    }

    /// The picture itself when it is even already.
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
