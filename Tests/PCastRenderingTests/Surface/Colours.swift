import PCastCodecs
import PCastCore

/// Frames of a few colors, for tests that check how they are drawn.
enum Colours {
    static let red: UInt32 = 0xFF0000
    static let green: UInt32 = 0x00FF00
    static let blue: UInt32 = 0x0000FF
    static let white: UInt32 = 0xFFFFFF

    /// Returns a frame with red and green above blue and white.
    static func quarters(_ dimensions: Dimensions = Dimensions(width: 320, height: 180)) throws -> VideoFrame {
        try frame(dimensions) { x, y in
            let isRight = x >= dimensions.width / 2
            if y < dimensions.height / 2 { return isRight ? green : red }
            return isRight ? white : blue
        }
    }

    static func plain(_ colour: UInt32, _ dimensions: Dimensions = Dimensions(width: 320, height: 180)) throws
        -> VideoFrame
    {
        try frame(dimensions) { _, _ in colour }
    }

    static func frame(_ dimensions: Dimensions, _ colour: (Int, Int) -> UInt32) throws -> VideoFrame {
        var bytes: [UInt8] = []
        for y in 0..<dimensions.height {
            for x in 0..<dimensions.width {
                let value = colour(x, y)
                bytes += [
                    UInt8(value & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value >> 16 & 0xFF), 255,
                ]
            }
        }
        return try bytes.withUnsafeBytes {
            try RawFrameConverter().convert(
                $0, format: .bgra, dimensions: dimensions, isFullRange: true, captureTime: nil,
                timestamp: MediaTime(ticks: 0, rate: .video))
        }
    }

    /// Returns whether two colors look the same. Coding in 4:2:0 and back changes them slightly.
    static func areNear(_ one: UInt32, _ other: UInt32, within limit: Int = 12) -> Bool {
        [UInt32(0), 8, 16].allSatisfy { shift in
            abs(Int(one >> shift & 0xFF) - Int(other >> shift & 0xFF)) <= limit
        }
    }
}
