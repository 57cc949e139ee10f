import PCastCore

/// Converts interlaced frames to progressive ones without delay. It keeps the field that was captured first, and
/// interpolates the other one where the two differ by motion.
///
/// A sample of the other field is kept if nothing moved since the previous frame. It is also kept if it lies between
/// its neighbors above and below, and therefore shows no combing. Still parts keep the full vertical resolution; moving
/// parts have the resolution of one field. Only one thread may use it at a time.
final class Deinterlacer {
    /// A field of an interlaced frame.
    enum Field {
        /// The rows 0, 2, 4 and so on.
        case top
        case bottom
    }

    private let pool = VideoFramePool()
    /// The previous input frame, for motion detection.
    private var previous: VideoFrame?

    /// The largest deviation that is not visible as combing.
    private static let combTolerance: Int16 = 4
    /// The largest difference that counts as noise and not as motion.
    private static let stillTolerance: Int16 = 3

    /// Discards the previous frame before another scene or stream.
    func reset() { previous = nil }

    /// Returns the progressive frame. It keeps `field`, the field that was captured first.
    func deinterlace(_ frame: VideoFrame, keeping field: Field) -> VideoFrame {
        let before = previous?.dimensions == frame.dimensions ? previous : nil
        previous = frame
        let result = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp, color: frame.color
        )
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let kept = field == .top ? 0 : 1
        let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
        for (source, target, old, stride, width, height) in [
            (frame.planeY, result.planeY, before?.planeY, frame.strideY, width, height),
            (frame.planeU, result.planeU, before?.planeU, frame.strideUV, halfWidth, halfHeight),
            (frame.planeV, result.planeV, before?.planeV, frame.strideUV, halfWidth, halfHeight),
        ] {
            for row in 0..<height {
                let line = target + row * stride
                guard row % 2 != kept else {
                    line.update(from: source + row * stride, count: width)
                    continue
                }
                let above = row > 0 ? row - 1 : min(row + 1, height - 1)
                let below = row + 1 < height ? row + 1 : above
                Self.restore(
                    line, from: source, rows: (above * stride, row * stride, below * stride), before: old, count: width)
            }
        }
        return result
    }

    /// Writes one row of the other field. It uses 16-bit arithmetic without branches, so that the compiler vectorizes
    /// it.
    private static func restore(
        _ target: UnsafeMutablePointer<UInt8>, from source: UnsafeMutablePointer<UInt8>,
        rows: (above: Int, row: Int, below: Int), before: UnsafeMutablePointer<UInt8>?, count: Int
    ) {
        let (above, row, below) = (source + rows.above, source + rows.row, source + rows.below)
        guard let before else {
            for index in 0..<count {
                let (a, c, b) = (Int16(above[index]), Int16(row[index]), Int16(below[index]))
                let isWhole = (c >= min(a, b) &- combTolerance) && (c <= max(a, b) &+ combTolerance)
                target[index] = UInt8(truncatingIfNeeded: isWhole ? c : (a &+ b &+ 1) >> 1)
            }
            return
        }
        let (oldAbove, oldRow, oldBelow) = (before + rows.above, before + rows.row, before + rows.below)
        for index in 0..<count {
            let (a, c, b) = (Int16(above[index]), Int16(row[index]), Int16(below[index]))
            let motion = max(
                abs(a &- Int16(oldAbove[index])), max(abs(c &- Int16(oldRow[index])), abs(b &- Int16(oldBelow[index]))))
            target[index] = UInt8(truncatingIfNeeded: motion <= stillTolerance ? c : (a &+ b &+ 1) >> 1)
        }
    }
}
