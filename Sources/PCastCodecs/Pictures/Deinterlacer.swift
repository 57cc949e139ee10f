import PCastMedia

/// Makes progressive frames of interlaced ones, each at once: the field that was captured first is kept, and the other one
/// is replaced where the two do not belong to one moment.
///
/// A sample of the other field stays where nothing has moved since the frame before, or where it lies between its neighbours
/// above and below, so that it shows no comb. So still pictures keep their full height, and what moves has that of a field.
/// Used by one thread at a time.
final class Deinterlacer {
    enum Field {
        /// Of the rows 0, 2, 4 and so on.
        case top
        case bottom
    }

    private let pool = VideoFramePool()
    /// As it came, to see what has moved.
    private var previous: VideoFrame?

    /// The comb that is not seen.
    private static let combTolerance: Int16 = 4
    /// The noise of what does not move.
    private static let stillTolerance: Int16 = 3

    /// Forgets the frame before: what comes next is of another scene or stream.
    func reset() { previous = nil }

    /// - Parameter field: the one that was captured first.
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

    /// Writes one row of the field that is not kept. In 16 bits and without branches, so that the compiler makes vectors of
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
            let isWhole =
                (c >= min(a, b) &- combTolerance) && (c <= max(a, b) &+ combTolerance) || motion <= stillTolerance
            target[index] = UInt8(truncatingIfNeeded: isWhole ? c : (a &+ b &+ 1) >> 1)
        }
    }
}
