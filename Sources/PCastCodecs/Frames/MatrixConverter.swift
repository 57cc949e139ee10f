package import PCastCore

/// Converts frames between the BT.601 and BT.709 matrices, for codecs that support only one. Only one thread may use it
/// at a time.
package final class MatrixConverter {
    private let pool = VideoFramePool()

    /// The number of fractional bits in fixed-point factors.
    private static let precision: Int32 = 14

    /// Creates a converter.
    package init() {}

    /// Returns the frame with this matrix; the same frame if it already has it. Luma and chroma of one matrix are
    /// linear combinations of those of the other, so no RGB values are computed.
    package func convert(_ frame: VideoFrame, to matrix: MatrixCoefficients) -> VideoFrame {
        guard frame.matrix != matrix else { return frame }
        let target = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: VideoColor(matrix: matrix))
        let factors = Factors(from: frame.matrix, to: matrix)
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        // The value to add to the luma samples of a row of chroma samples.
        var added = [Int16](repeating: 0, count: (width + 1) / 2)
        for row in 0..<(height + 1) / 2 {
            let offset = row * frame.strideUV
            Self.convertChroma(
                frame.planeU + offset, frame.planeV + offset, target.planeU + offset, target.planeV + offset, &added,
                factors)
            for line in row * 2..<min(row * 2 + 2, height) {
                Self.convertLuma(
                    frame.planeY + line * frame.strideY, target.planeY + line * frame.strideY, added, width)
            }
        }
        return target
    }

    private static func convertChroma(
        _ u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>, _ newU: UnsafeMutablePointer<UInt8>,
        _ newV: UnsafeMutablePointer<UInt8>, _ added: inout [Int16], _ factors: Factors
    ) {
        let half: Int32 = 1 << (precision - 1)
        added.withUnsafeMutableBufferPointer { added in
            for index in 0..<added.count {
                let (b, r) = (Int32(u[index]) &- 128, Int32(v[index]) &- 128)
                added[index] = Int16(truncatingIfNeeded: (factors.yb &* b &+ factors.yr &* r &+ half) >> precision)
                let newB = (factors.bb &* b &+ factors.br &* r &+ half) >> precision &+ 128
                let newR = (factors.rb &* b &+ factors.rr &* r &+ half) >> precision &+ 128
                newU[index] = UInt8(truncatingIfNeeded: min(max(newB, 16), 240))
                newV[index] = UInt8(truncatingIfNeeded: min(max(newR, 16), 240))
            }
        }
    }

    private static func convertLuma(
        _ y: UnsafeMutablePointer<UInt8>, _ newY: UnsafeMutablePointer<UInt8>, _ added: [Int16], _ width: Int
    ) {
        added.withUnsafeBufferPointer { added in
            for index in 0..<width {
                let sum = Int16(y[index]) &+ added[index >> 1]
                newY[index] = UInt8(truncatingIfNeeded: min(max(sum, 1), 254))
            }
        }
    }

    /// The conversion factors between luma with 219 steps and chroma with 224 steps.
    private struct Factors {
        var yb, yr, bb, br, rb, rr: Int32

        init(from source: MatrixCoefficients, to target: MatrixCoefficients) {
            let (from, to) = (Weights(source), Weights(target))
            /// Returns the RGB values of chroma alone, with zero luma.
            func colors(_ b: Double, _ r: Double) -> (red: Double, green: Double, blue: Double) {
                let red = 2 * (1 - from.red) * r
                let blue = 2 * (1 - from.blue) * b
                return (red, -(from.red * red + from.blue * blue) / from.green, blue)
            }
            func components(_ b: Double, _ r: Double) -> (y: Double, b: Double, r: Double) {
                let color = colors(b, r)
                let y = to.red * color.red + to.green * color.green + to.blue * color.blue
                return (y, (color.blue - y) / (2 * (1 - to.blue)), (color.red - y) / (2 * (1 - to.red)))
            }
            func fixed(_ factor: Double) -> Int32 { Int32((factor * Double(1 << precision)).rounded()) }
            let (ofB, ofR) = (components(1, 0), components(0, 1))
            (yb, yr) = (fixed(ofB.y * 219 / 224), fixed(ofR.y * 219 / 224))
            (bb, br) = (fixed(ofB.b), fixed(ofR.b))
            (rb, rr) = (fixed(ofB.r), fixed(ofR.r))
        }
    }

    /// The weights of red, green and blue in luma (ITU-T H.273, table 4).
    private struct Weights {
        var red, blue: Double
        var green: Double { 1 - red - blue }

        init(_ matrix: MatrixCoefficients) {
            (red, blue) = matrix == .bt709 ? (0.2126, 0.0722) : (0.299, 0.114)
        }
    }
}
