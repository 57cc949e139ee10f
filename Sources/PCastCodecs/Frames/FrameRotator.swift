import CYUV
package import PCastCore

/// Rotates frames by multiples of 90° and mirrors them in one pass (libyuv). Only one thread may use it at a time.
package final class FrameRotator {
    private let pool: VideoFramePool

    /// Creates a rotator that takes its memory from a pool; nil for a pool of its own.
    package init(pool: VideoFramePool? = nil) { self.pool = pool ?? VideoFramePool() }

    /// Returns the frame, mirrored first and then rotated; the same frame if there is nothing to do.
    package func turn(
        _ frame: VideoFrame, by turn: FrameRotation, mirrored mirroring: FrameMirroring = []
    ) -> VideoFrame {
        // A horizontal flip equals a vertical flip and a rotation by 180°.
        let isFlipped = mirroring.contains(.horizontal) != mirroring.contains(.vertical)
        let turn = mirroring.contains(.horizontal) ? turn + .half : turn
        guard isFlipped || turn != .none else { return frame }
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let dimensions = turn.exchangesSides ? Dimensions(width: height, height: width) : frame.dimensions
        let target = pool.frame(
            dimensions: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let (strideY, strideUV) = (Int32(frame.strideY), Int32(frame.strideUV))
        let (targetY, targetUV) = (Int32(target.strideY), Int32(target.strideUV))
        // libyuv reads a frame of negative height from the bottom.
        let rows = Int32(isFlipped ? -height : height)
        let result: Int32
        if isFlipped, turn == .half {
            result = I420Mirror(
                frame.planeY, strideY, frame.planeU, strideUV, frame.planeV, strideUV, target.planeY, targetY,
                target.planeU, targetUV, target.planeV, targetUV, Int32(width), Int32(height))
        } else {
            result = I420Rotate(
                frame.planeY, strideY, frame.planeU, strideUV, frame.planeV, strideUV, target.planeY, targetY,
                target.planeU, targetUV, target.planeV, targetUV, Int32(width), rows,
                RotationMode(rawValue: UInt32(turn.degrees)))
        }
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return target
    }
}
