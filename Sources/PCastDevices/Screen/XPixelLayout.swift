import PCastCodecs

/// The memory layout of an image's pixels, from the masks of a visual.
struct XPixelLayout: Hashable {
    /// The position of a color in a pixel that is read as a little-endian number.
    struct Channel: Hashable {
        let shift: Int
        let width: Int
    }

    let format: RawPixelFormat
    let bytesPerPixel: Int
    let red: Channel
    let green: Channel
    let blue: Channel
    private let scanlinePad: Int

    /// Returns nil for unsupported pixels: with a palette, or with more than eight bits per color.
    init?(
        bitsPerPixel: Int, scanlinePad: Int, red: UInt32, green: UInt32, blue: UInt32, isLittleEndian: Bool
    ) {
        guard [16, 24, 32].contains(bitsPerPixel), [8, 16, 32].contains(scanlinePad) else { return nil }
        bytesPerPixel = bitsPerPixel / 8
        self.scanlinePad = scanlinePad
        let channels = [red, green, blue].compactMap(Self.channel)
        guard channels.count == 3, channels.allSatisfy({ $0.shift + $0.width <= bitsPerPixel }) else { return nil }
        if bitsPerPixel == 16 {
            guard isLittleEndian else { return nil }
            switch channels.map(\.width) {
            case [5, 6, 5] where channels.map(\.shift) == [11, 5, 0]: format = .rgb565
            case [5, 5, 5] where channels.map(\.shift) == [10, 5, 0]: format = .xrgb1555
            default: return nil
            }
            (self.red, self.green, self.blue) = (channels[0], channels[1], channels[2])
            return
        }
        guard channels.allSatisfy({ $0.width == 8 && $0.shift % 8 == 0 }) else { return nil }
        // The order of the bytes in memory, independent of the server's byte order.
        let size = bytesPerPixel
        let byteOffsets = channels.map { isLittleEndian ? $0.shift / 8 : size - 1 - $0.shift / 8 }
        switch (size, byteOffsets) {
        case (4, [2, 1, 0]): format = .bgrx
        case (4, [0, 1, 2]): format = .rgbx
        case (4, [1, 2, 3]): format = .xrgb
        case (3, [2, 1, 0]): format = .bgr24
        case (3, [0, 1, 2]): format = .rgb24
        default: return nil
        }
        (self.red, self.green, self.blue) = (
            Channel(shift: byteOffsets[0] * 8, width: 8), Channel(shift: byteOffsets[1] * 8, width: 8),
            Channel(shift: byteOffsets[2] * 8, width: 8)
        )
    }

    /// Returns the number of bytes per row of an image.
    func stride(width: Int) -> Int {
        (width * bytesPerPixel * 8 + scanlinePad - 1) / scanlinePad * scanlinePad / 8
    }

    private static func channel(_ mask: UInt32) -> Channel? {
        let (shift, width) = (mask.trailingZeroBitCount, mask.nonzeroBitCount)
        // The mask must be contiguous.
        guard mask != 0, mask >> shift == UInt32.max >> (32 - width) else { return nil }
        return Channel(shift: shift, width: width)
    }
}
