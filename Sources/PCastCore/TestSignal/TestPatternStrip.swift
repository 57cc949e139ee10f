/// The time strip of the test frame: 64 cells across the top, white for 1 and black for 0. They carry a
/// ``TestPatternStamp`` through any encoder and scaler.
package enum TestPatternStrip {
    /// The number of cells.
    package static let cellCount = 64

    /// The luma of a cell in limited range.
    private static let white: UInt8 = 235
    private static let black: UInt8 = 16

    /// The minimum difference in luma between the brightest and the darkest cell of a valid strip.
    private static let minimumContrast = 60

    /// Returns the number of rows of the strip in a frame that is drawn with this height.
    package static func rowCount(frameHeight: Int) -> Int { max(16, frameHeight / 18) }

    /// Returns the columns of a cell.
    package static func columns(ofCell cell: Int, frameWidth: Int) -> Range<Int> {
        cell * frameWidth / cellCount..<(cell + 1) * frameWidth / cellCount
    }

    /// Draws the strip into the top rows of an I420 frame.
    package static func draw(_ stamp: TestPatternStamp, into frame: VideoFrame) {
        let dimensions = frame.dimensions
        let rows = min(rowCount(frameHeight: dimensions.height), dimensions.height)
        let bits = stamp.bits
        for cell in 0..<cellCount {
            let columns = columns(ofCell: cell, frameWidth: dimensions.width)
            let isOne = bits >> UInt64(cellCount - 1 - cell) & 1 == 1
            (frame.planeY + columns.lowerBound).update(repeating: isOne ? white : black, count: columns.count)
        }
        for row in 1..<rows {
            (frame.planeY + row * frame.strideY).update(from: frame.planeY, count: dimensions.width)
        }
        for row in 0..<(rows + 1) / 2 {
            (frame.planeU + row * frame.strideUV).update(repeating: 128, count: (dimensions.width + 1) / 2)
            (frame.planeV + row * frame.strideUV).update(repeating: 128, count: (dimensions.width + 1) / 2)
        }
    }

    /// Reads the strip of a frame of any size; nil if there is none or it is damaged.
    package static func read(_ frame: VideoFrame) -> TestPatternStamp? {
        let dimensions = frame.dimensions
        guard dimensions.width >= cellCount, dimensions.height >= 18 else { return nil }
        let cells = (0..<cellCount).map { brightness(ofCell: $0, in: frame) }
        guard let darkest = cells.min(), let brightest = cells.max(), brightest - darkest >= minimumContrast else {
            return nil
        }
        let threshold = (darkest + brightest) / 2
        return TestPatternStamp(bits: cells.reduce(0) { $0 << 1 | ($1 > threshold ? 1 : 0) })
    }

    /// Returns the mean luma of the center of a cell. In a frame that was scaled down, the strip has an eighteenth of
    /// the height. Therefore rows are read from the middle of that part, which a higher strip covers too.
    private static func brightness(ofCell cell: Int, in frame: VideoFrame) -> Int {
        let columns = columns(ofCell: cell, frameWidth: frame.dimensions.width)
        let margin = columns.count / 3
        let inner = columns.lowerBound + margin..<columns.upperBound - margin
        let height = frame.dimensions.height
        let rows = height / 60..<max(height / 26, height / 60 + 1)
        var sum = 0
        for row in rows {
            for column in inner { sum += Int(frame.planeY[row * frame.strideY + column]) }
        }
        return sum / (rows.count * inner.count)
    }
}
