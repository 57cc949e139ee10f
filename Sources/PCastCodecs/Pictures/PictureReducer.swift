import CYUV
public import PCastMedia

/// Makes pictures smaller by libyuv, each of the smaller one's pixels the mean of those that it stands for. Used by one
/// thread at a time.
public final class PictureReducer {
    private let pool = VideoFramePool()

    public init() {}

    /// The picture's size when it is made smaller so many times, both sides even as 4:2:0 wants them.
    public static func dimensions(of dimensions: Dimensions, reducedBy factor: Int) -> Dimensions {
        precondition(factor > 0, "a picture is not reduced by nothing")
        guard factor > 1 else { return dimensions }
        let side = { (length: Int) in max(length / factor & ~1, 2) }
        return Dimensions(width: side(dimensions.width), height: side(dimensions.height))
    }

    /// The picture made smaller; the same picture when the factor is one.
    public func reduce(_ frame: VideoFrame, by factor: Int) -> VideoFrame {
        let dimensions = Self.dimensions(of: frame.dimensions, reducedBy: factor)
        guard dimensions != frame.dimensions else { return frame }
        let target = pool.frame(
            dimensions: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let result = I420Scale(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideUV), frame.planeV,
            Int32(frame.strideUV), Int32(frame.dimensions.width), Int32(frame.dimensions.height), target.planeY,
            Int32(target.strideY), target.planeU, Int32(target.strideUV), target.planeV, Int32(target.strideUV),
            Int32(dimensions.width), Int32(dimensions.height), kFilterBox)
        precondition(result == 0, "libyuv refuses no picture of a size")
        return target
    }
}
