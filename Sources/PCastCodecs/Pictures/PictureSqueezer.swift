import CYUV
public import PCastMedia

/// Draws pictures smaller onto black, by libyuv: squeeze-back, that leaves room for graphics beside them. Used by one thread
/// at a time.
public final class PictureSqueezer {
    private let pool = VideoFramePool()

    public init() {}

    /// A picture of the same size, black but for the target, where the whole picture is.
    ///
    /// - Parameter target: within the picture; brought to even numbers, as 4:2:0 wants them. An empty one leaves black.
    public func squeeze(_ frame: VideoFrame, into target: PictureRectangle) -> VideoFrame {
        let canvas = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let halfHeight = (frame.dimensions.height + 1) / 2
        // Limited range, as all pictures here (ITU-R BT.601-7, section 2.5.3).
        canvas.planeY.update(repeating: 16, count: canvas.strideY * frame.dimensions.height)
        canvas.planeU.update(repeating: 128, count: canvas.strideUV * halfHeight)
        canvas.planeV.update(repeating: 128, count: canvas.strideUV * halfHeight)
        let (x, y) = (max(target.x, 0) & ~1, max(target.y, 0) & ~1)
        let width = min(target.width, frame.dimensions.width - x) & ~1
        let height = min(target.height, frame.dimensions.height - y) & ~1
        guard width >= 2, height >= 2 else { return canvas }
        let half = y / 2 * canvas.strideUV + x / 2
        let result = I420Scale(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideUV), frame.planeV,
            Int32(frame.strideUV), Int32(frame.dimensions.width), Int32(frame.dimensions.height),
            canvas.planeY + y * canvas.strideY + x, Int32(canvas.strideY), canvas.planeU + half,
            Int32(canvas.strideUV), canvas.planeV + half, Int32(canvas.strideUV), Int32(width), Int32(height),
            kFilterBox)
        precondition(result == 0, "libyuv refuses no picture of a size")
        return canvas
    }
}
