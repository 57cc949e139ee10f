import PCastCore

/// Draws to the planes of a frame, clipped at its edges.
struct FrameCanvas {
    let width: Int
    let height: Int
    private let planeY: UnsafeMutablePointer<UInt8>
    private let planeU: UnsafeMutablePointer<UInt8>
    private let planeV: UnsafeMutablePointer<UInt8>
    private let strideY: Int
    private let strideUV: Int

    /// Creates a canvas for memory in the layout of `VideoFrame.layout`, which must outlive it.
    init(_ memory: UnsafeMutableRawBufferPointer, dimensions: Dimensions) {
        let layout = VideoFrame.layout(dimensions)
        precondition(memory.count >= layout.byteCount, "the memory is too small for the frame")
        width = dimensions.width
        height = dimensions.height
        strideY = layout.strideY
        strideUV = layout.strideUV
        planeY = memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
        planeU = planeY + strideY * height
        planeV = planeU + strideUV * ((height + 1) / 2)
    }

    func fill(left: Int, top: Int, right: Int, bottom: Int, colour: FrameColour) {
        let columns = max(0, left)..<max(0, left, min(right, width))
        let rows = max(0, top)..<max(0, top, min(bottom, height))
        guard !columns.isEmpty, !rows.isEmpty else { return }
        for row in rows {
            (planeY + row * strideY + columns.lowerBound).update(repeating: colour.luma, count: columns.count)
        }
        let halfColumns = columns.lowerBound / 2..<(columns.upperBound + 1) / 2
        for row in rows.lowerBound / 2..<(rows.upperBound + 1) / 2 {
            let offset = row * strideUV + halfColumns.lowerBound
            (planeU + offset).update(repeating: colour.blueDifference, count: halfColumns.count)
            (planeV + offset).update(repeating: colour.redDifference, count: halfColumns.count)
        }
    }

    /// Blends a color into the frame by a coverage mask.
    func stamp(_ mask: CoverageMask, left: Int, top: Int, colour: FrameColour) {
        let columns = max(0, -left)..<max(0, -left, min(mask.width, width - left))
        let rows = max(0, -top)..<max(0, -top, min(mask.height, height - top))
        guard !columns.isEmpty, !rows.isEmpty else { return }
        mask.values.withUnsafeBufferPointer { values in
            for row in rows {
                let coverage = values.baseAddress! + row * mask.width
                let luma = planeY + (top + row) * strideY + left
                for column in columns where coverage[column] != 0 {
                    Self.blend(&luma[column], colour.luma, coverage[column])
                }
                guard (top + row) & 1 == 0 else { continue }
                let offset = (top + row) / 2 * strideUV
                for column in columns where (left + column) & 1 == 0 && coverage[column] != 0 {
                    let index = offset + (left + column) / 2
                    Self.blend(&planeU[index], colour.blueDifference, coverage[column])
                    Self.blend(&planeV[index], colour.redDifference, coverage[column])
                }
            }
        }
    }

    @inline(__always)
    private static func blend(_ pixel: inout UInt8, _ value: UInt8, _ coverage: UInt8) {
        let part = Int(coverage)
        pixel = UInt8(truncatingIfNeeded: (Int(pixel) * (255 - part) + Int(value) * part + 127) / 255)
    }
}
