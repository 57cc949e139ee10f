import PCastCore

/// Rows of a frame that is being written. The first row has an even number.
struct FrameRows {
    let row: Int
    let y: UnsafeMutablePointer<UInt8>
    let u: UnsafeMutablePointer<UInt8>
    let v: UnsafeMutablePointer<UInt8>
    let strideY: Int32
    let strideUV: Int32
    let width: Int32
    let height: Int32

    init(of frame: VideoFrame, row: Int, height: Int) {
        self.row = row
        y = frame.planeY + row * frame.strideY
        u = frame.planeU + row / 2 * frame.strideUV
        v = frame.planeV + row / 2 * frame.strideUV
        strideY = Int32(frame.strideY)
        strideUV = Int32(frame.strideUV)
        width = Int32(frame.dimensions.width)
        self.height = Int32(height)
    }
}
