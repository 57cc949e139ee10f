import CYUV
package import PCastCore

/// Draws frames smaller on black (squeeze-back), which leaves space for graphics beside them. Only one thread may use
/// it at a time.
package final class SqueezeBackScaler {
    private let pool = VideoFramePool()

    /// Creates a squeezer.
    package init() {}

    /// Returns a black frame of the same size that shows the whole frame in `target`. The rectangle is clipped and
    /// rounded down to even numbers because of 4:2:0. If it is empty, the result is black.
    package func draw(_ frame: VideoFrame, into target: FrameRectangle) -> VideoFrame {
        let canvas = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let halfHeight = (frame.dimensions.height + 1) / 2
        // Black in limited range (ITU-R BT.601-7, section 2.5.3).
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
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return canvas
    }
}
