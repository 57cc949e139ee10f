import CYUV
public import PCastMedia

/// Turns pictures by right angles and mirrors them, by libyuv, in one pass. Used by one thread at a time.
public final class PictureRotator {
    private let pool: VideoFramePool

    /// - Parameter pool: where the pictures' memory comes from; nil for one of its own.
    public init(pool: VideoFramePool? = nil) { self.pool = pool ?? VideoFramePool() }

    /// The picture, first mirrored and then turned; the same picture when there is nothing to do.
    public func turn(
        _ frame: VideoFrame, by turn: PictureTurn, mirrored mirroring: PictureMirroring = []
    ) -> VideoFrame {
        // Exchanging left and right is exchanging top and bottom, and half a turn.
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
        // libyuv reads a picture of negative height from its bottom.
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
        precondition(result == 0, "libyuv refuses no picture of a size")
        return target
    }
}
