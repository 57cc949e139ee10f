/// Brings full range to limited range: brightness 0…255 to 16…235, colours 0…255 to 16…240 (ITU-R BT.601; COD6).
enum LimitedRange {
    /// In place.
    static func compress(_ strip: PictureStrip) {
        let (width, height) = (Int(strip.width), Int(strip.height))
        for row in 0..<height { compressLuma(strip.y + row * Int(strip.strideY), count: width) }
        for row in 0..<height / 2 {
            compressChroma(strip.u + row * Int(strip.strideUV), count: width / 2)
            compressChroma(strip.v + row * Int(strip.strideUV), count: width / 2)
        }
    }

    /// 16 + y · 219 / 255, rounded. In 16 bits and without traps, so that the compiler makes vectors of it.
    private static func compressLuma(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            row[index] = UInt8(truncatingIfNeeded: divideBy255(UInt16(row[index]) &* 219) &+ 16)
        }
    }

    /// 128 + (c − 128) · 224 / 255, rounded, written without negative numbers.
    private static func compressChroma(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            row[index] = UInt8(truncatingIfNeeded: divideBy255(UInt16(row[index]) &* 224 &+ 31 * 128))
        }
    }

    /// Rounded; exact for all 16-bit products of two bytes.
    @inline(__always)
    private static func divideBy255(_ value: UInt16) -> UInt16 {
        let sum = value &+ 128
        return (sum &+ (sum &>> 8)) &>> 8
    }
}
