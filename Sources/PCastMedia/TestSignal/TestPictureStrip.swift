/// The time strip of the test picture: 64 cells across the top of the picture, white for 1 and black for 0, that carry
/// a `TestPictureStamp` through any encoder and scaler.
public enum TestPictureStrip {
    public static let cellCount = 64

    /// Luma of a cell in limited range.
    private static let white: UInt8 = 235
    private static let black: UInt8 = 16

    /// Between the brightest and the darkest cell of a strip that can be believed, in steps of luma.
    private static let leastContrast = 60

    /// Rows that the strip takes in a picture that is drawn at this height.
    public static func rowCount(pictureHeight: Int) -> Int { max(16, pictureHeight / 18) }

    /// The columns of a cell.
    public static func columns(ofCell cell: Int, pictureWidth: Int) -> Range<Int> {
        cell * pictureWidth / cellCount..<(cell + 1) * pictureWidth / cellCount
    }

    /// Draws the strip into the top rows of an I420 picture.
    public static func draw(_ stamp: TestPictureStamp, into frame: VideoFrame) {
        let dimensions = frame.dimensions
        let rows = min(rowCount(pictureHeight: dimensions.height), dimensions.height)
        let bits = stamp.bits
        for cell in 0..<cellCount {
            let columns = columns(ofCell: cell, pictureWidth: dimensions.width)
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

    /// Reads the strip of a picture of any size; nil when it holds none, or one that is damaged.
    public static func read(_ frame: VideoFrame) -> TestPictureStamp? {
        let dimensions = frame.dimensions
        guard dimensions.width >= cellCount, dimensions.height >= 18 else { return nil }
        let cells = (0..<cellCount).map { brightness(ofCell: $0, in: frame) }
        guard let darkest = cells.min(), let brightest = cells.max(), brightest - darkest >= leastContrast else {
            return nil
        }
        let threshold = (darkest + brightest) / 2
        return TestPictureStamp(bits: cells.reduce(0) { $0 << 1 | ($1 > threshold ? 1 : 0) })
    }

    /// The mean luma of the middle of a cell. A picture that was made smaller has a strip of an eighteenth of its
    /// height, so rows are taken from the middle of that, which a taller strip covers as well.
    private static func brightness(ofCell cell: Int, in frame: VideoFrame) -> Int {
        let columns = columns(ofCell: cell, pictureWidth: frame.dimensions.width)
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
