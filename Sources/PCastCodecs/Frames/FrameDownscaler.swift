import CYUV
package import PCastCore

/// Scales frames down by a whole factor with averaging (libyuv). Only one thread may use it at a time.
package final class FrameDownscaler {
    private let pool = VideoFramePool()

    /// Creates a reducer.
    package init() {}

    /// Returns the size of a frame that is scaled down by a factor of at least 1. Both sides are even because of 4:2:0.
    package static func dimensions(of dimensions: Dimensions, reducedBy factor: Int) -> Dimensions {
        precondition(factor > 0, "the reduction factor must be positive")
        guard factor > 1 else { return dimensions }
        let side = { (length: Int) in max(length / factor & ~1, 2) }
        return Dimensions(width: side(dimensions.width), height: side(dimensions.height))
    }

    /// Returns the frame scaled down; the same frame for a factor of 1.
    package func reduce(_ frame: VideoFrame, by factor: Int) -> VideoFrame {
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
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return target
    }
}
