package import PCastCodecs
package import PCastCore

/// The format of a stream's frames.
package struct PipeWireVideoFormat: Hashable {
    /// The layout of the pixels; nil for JPEG images.
    package let pixels: RawPixelFormat?
    /// The size of a frame.
    package let dimensions: Dimensions

    /// The identifiers of object types, parameters and properties, in `spa/param`.
    enum Key {
        static let format: UInt32 = 0x40003
        static let buffers: UInt32 = 0x40004
        static let meta: UInt32 = 0x40005
        static let formatOffer: UInt32 = 3
        static let formatChosen: UInt32 = 4
        static let buffersParameter: UInt32 = 5
        static let metaParameter: UInt32 = 6
        static let mediaType: UInt32 = 1
        static let mediaSubtype: UInt32 = 2
        static let pixels: UInt32 = 0x20001
        static let size: UInt32 = 0x20003
        static let frameRate: UInt32 = 0x20004
        static let maximumFrameRate: UInt32 = 0x20005
        static let video: UInt32 = 2
        static let raw: UInt32 = 1
        static let jpeg: UInt32 = 0x20002
    }

    /// The pixels of screens in order of preference, by their identifiers in `spa/param/video/raw.h`.
    private static let screens: [(id: UInt32, pixels: RawPixelFormat)] = [
        (8, .bgrx), (12, .bgra), (7, .rgbx), (11, .rgba), (9, .xrgb), (13, .argb), (16, .bgr24), (15, .rgb24),
    ]

    /// The pixels of cameras, with those of screens.
    static let accepted: [(id: UInt32, pixels: RawPixelFormat)] =
        screens + [
            (4, .yuyv), (23, .nv12), (2, .i420), (5, .uyvy), (19, .yvyu), (24, .nv21), (3, .yv12), (25, .grey),
        ]

    /// The largest side of a frame.
    package static let longestSide = 16_384

    /// The parameter of a format that was chosen; nil for other parameters.
    static let parameter = Key.formatChosen

    /// Returns the offer of all formats of a screen, with the frame rate as a limit. There is no modifier, so that frames
    /// are in shared memory and not in DMA-BUF.
    package static func offer(frameRate: FrameRate, dimensions: Dimensions) -> PipeWirePod {
        let side = UInt32(longestSide)
        let rate = PipeWirePod.Value.fraction(UInt32(frameRate.numerator), UInt32(frameRate.denominator))
        return PipeWirePod(
            type: Key.format, parameter: Key.formatOffer,
            [
                Key.mediaType: .id(Key.video), Key.mediaSubtype: .id(Key.raw),
                Key.pixels: .anyOf(screens.map { .id($0.id) }),
                Key.size: .range(
                    .rectangle(UInt32(dimensions.width), UInt32(dimensions.height)), .rectangle(1, 1),
                    .rectangle(side, side)),
                // A screen has no constant frame rate, which is written as 0.
                Key.frameRate: .range(.fraction(0, 1), .fraction(0, 1), .fraction(1_000, 1)),
                Key.maximumFrameRate: .range(rate, .fraction(1, 1), rate),
            ])
    }

    /// The requested memory and metadata of buffers.
    package static func buffers() -> [PipeWirePod] {
        [
            PipeWirePod(
                type: Key.buffers, parameter: Key.buffersParameter,
                [1: .range(.integer(4), .integer(2), .integer(16)), 2: .integer(1), 6: .flags(1 << 1 | 1 << 2)]),
            PipeWirePod(type: Key.meta, parameter: Key.metaParameter, [1: .id(1), 2: .integer(32)]),
            PipeWirePod(type: Key.meta, parameter: Key.metaParameter, [1: .id(2), 2: .integer(16)]),
        ]
    }

    init(pixels: RawPixelFormat?, dimensions: Dimensions) { (self.pixels, self.dimensions) = (pixels, dimensions) }

    /// Reads the format that was chosen. Returns nil if it is not an accepted one.
    package init?(_ pod: PipeWirePod) {
        guard pod.type == Key.format, pod.properties[Key.mediaType] == .id(Key.video),
            case .rectangle(let width, let height)? = pod.properties[Key.size],
            (1...Self.longestSide).contains(Int(width)), (1...Self.longestSide).contains(Int(height))
        else { return nil }
        let dimensions = Dimensions(width: Int(width), height: Int(height))
        switch pod.properties[Key.mediaSubtype] {
        case .id(Key.jpeg): self.init(pixels: nil, dimensions: dimensions)
        case .id(Key.raw):
            guard case .id(let id)? = pod.properties[Key.pixels],
                let pixels = Self.accepted.first(where: { $0.id == id })?.pixels
            else { return nil }
            self.init(pixels: pixels, dimensions: dimensions)
        default: return nil
        }
    }
}
