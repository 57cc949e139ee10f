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

/// A color in BT.601 with limited range, as in the planes of a frame.
struct FrameColour: Hashable {
    var luma: UInt8
    var blueDifference: UInt8
    var redDifference: UInt8

    /// Converts red, green and blue from 0 to 255 (ITU-R BT.601, section 3.5).
    init(_ red: Int, _ green: Int, _ blue: Int) {
        luma = UInt8(16 + (65_738 * red + 129_057 * green + 25_064 * blue + 128_000) / 256_000)
        blueDifference = UInt8(128 + (-37_945 * red - 74_494 * green + 112_439 * blue) / 256_000)
        redDifference = UInt8(128 + (112_439 * red - 94_154 * green - 18_285 * blue) / 256_000)
    }

    static let black = FrameColour(0, 0, 0)
    static let white = FrameColour(255, 255, 255)

    /// Returns a mix of two colors; `part` is from 0 to 1.
    static func blend(_ from: FrameColour, _ to: FrameColour, _ part: Double) -> FrameColour {
        let mix = { (a: UInt8, b: UInt8) in UInt8((Double(a) + (Double(b) - Double(a)) * part).rounded()) }
        var colour = from
        colour.luma = mix(from.luma, to.luma)
        colour.blueDifference = mix(from.blueDifference, to.blueDifference)
        colour.redDifference = mix(from.redDifference, to.redDifference)
        return colour
    }
}
