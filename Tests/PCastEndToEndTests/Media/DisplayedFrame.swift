import PCastCore

/// The position of a frame on a black background.
struct DisplayedFrame: Sendable, Equatable {
    let left: Int
    let top: Int
    let width: Int
    let height: Int

    /// The threshold is above black. It also applies to the black cells of the frame's strip.
    private static let threshold: UInt8 = 40

    init(_ frame: VideoFrame) {
        let (columns, rows) = (frame.dimensions.width, frame.dimensions.height)
        var (left, right, top, bottom) = (columns, -1, rows, -1)
        for row in 0..<rows {
            for column in 0..<columns where frame.planeY[row * frame.strideY + column] > Self.threshold {
                (left, right) = (min(left, column), max(right, column))
                (top, bottom) = (min(top, row), max(bottom, row))
            }
        }
        (self.left, self.top) = (left, top)
        (width, height) = (max(right - left + 1, 0), max(bottom - top + 1, 0))
    }

    func isNear(_ left: Int, _ top: Int, _ width: Int, _ height: Int) -> Bool {
        abs(self.left - left) <= 2 && abs(self.top - top) <= 2 && abs(self.width - width) <= 4
            && abs(self.height - height) <= 4
    }
}
