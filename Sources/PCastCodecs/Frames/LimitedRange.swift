/// Converts full range to limited range: luma 0…255 to 16…235, chroma 0…255 to 16…240 (ITU-R BT.601-7, section 2.5.3).
/// Decoders of WebRTC assume limited range.
enum LimitedRange {
    /// Converts a strip in place.
    static func compress(_ strip: FrameRows) {
        let (width, height) = (Int(strip.width), Int(strip.height))
        for row in 0..<height { compressLuma(strip.y + row * Int(strip.strideY), count: width) }
        for row in 0..<height / 2 {
            compressChroma(strip.u + row * Int(strip.strideUV), count: width / 2)
            compressChroma(strip.v + row * Int(strip.strideUV), count: width / 2)
        }
    }

    /// Replaces each sample with 16 + y · 219 / 255, rounded. It uses 16-bit arithmetic without traps, so that the
    /// compiler vectorizes it.
    private static func compressLuma(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            row[index] = UInt8(truncatingIfNeeded: divideBy255(UInt16(row[index]) &* 219) &+ 16)
        }
    }

    /// Replaces each sample with 128 + (c − 128) · 224 / 255, rounded, without negative intermediate values.
    private static func compressChroma(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            row[index] = UInt8(truncatingIfNeeded: divideBy255(UInt16(row[index]) &* 224 &+ 31 * 128))
        }
    }

    /// Divides by 255 with rounding; exact for all products of two bytes.
    @inline(__always)
    private static func divideBy255(_ value: UInt16) -> UInt16 {
        let sum = value &+ 128
        return (sum &+ (sum &>> 8)) &>> 8
    }
}
