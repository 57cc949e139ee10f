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
