public import PCastCore

/// The memory layout of the pixels of cameras (V4L2) and screens (X11).
///
/// The names list the bytes in the order of their addresses. The descriptions give the V4L2 FourCC.
public enum RawPixelFormat: String, CaseIterable, Sendable {
    /// 4:2:2 in one plane: Y U Y V (`YUYV`).
    case yuyv
    /// 4:2:2 in one plane: U Y V Y (`UYVY`).
    case uyvy
    /// 4:2:2 in one plane: Y V Y U (`YVYU`).
    case yvyu
    /// 4:2:2 in one plane: V Y U Y (`VYUY`).
    case vyuy
    /// 4:2:0 in two planes: Y, then interleaved U and V (`NV12`).
    case nv12
    /// 4:2:0 in two planes: Y, then interleaved V and U (`NV21`).
    case nv21
    /// 4:2:2 in two planes: Y, then interleaved U and V (`NV16`).
    case nv16
    /// 4:2:2 in two planes: Y, then interleaved V and U (`NV61`).
    case nv61
    /// 4:2:0 in three planes: Y, U, V (`YU12`).
    case i420
    /// 4:2:0 in three planes: Y, V, U (`YV12`).
    case yv12
    /// 4:2:2 in three planes: Y, U, V (`422P`).
    case i422
    /// Luma only (`GREY`).
    case grey
    /// Blue, green, red, and alpha, which is ignored (`AR24`).
    case bgra
    /// Blue, green, red, and an unused byte (`XR24`), which X11 uses at depth 24.
    case bgrx
    /// Red, green, blue, and alpha, which is ignored (`AB24`).
    case rgba
    /// Red, green, blue, and an unused byte (`XB24`).
    case rgbx
    /// Alpha, which is ignored, then red, green, blue (`BA24`).
    case argb
    /// An unused byte, then red, green, blue (`BX24`).
    case xrgb
    /// Red, green, blue (`RGB3`).
    case rgb24
    /// Blue, green, red (`BGR3`).
    case bgr24
    /// 16 bits, little-endian: five bits of red, six of green, five of blue, from the most significant (`RGBP`).
    case rgb565
    /// 16 bits, little-endian: an unused bit, then five bits each of red, green and blue (`XR15`).
    case xrgb1555

    /// The arrangement of the planes.
    enum Arrangement: Equatable {
        /// One plane.
        case packed(bytesPerPixel: Int)
        /// A luma plane and a plane of interleaved chroma, with all rows or half of them.
        case semiPlanar(isHalfHeight: Bool)
        /// Three planes, with chroma in all rows or half of them.
        case planar(isHalfHeight: Bool)
    }

    var arrangement: Arrangement {
        switch self {
        case .yuyv, .uyvy, .yvyu, .vyuy, .rgb565, .xrgb1555: .packed(bytesPerPixel: 2)
        case .rgb24, .bgr24: .packed(bytesPerPixel: 3)
        case .bgra, .bgrx, .rgba, .rgbx, .argb, .xrgb: .packed(bytesPerPixel: 4)
        case .grey: .packed(bytesPerPixel: 1)
        case .nv12, .nv21: .semiPlanar(isHalfHeight: true)
        case .nv16, .nv61: .semiPlanar(isHalfHeight: false)
        case .i420, .yv12: .planar(isHalfHeight: true)
        case .i422: .planar(isHalfHeight: false)
        }
    }

    /// Whether the pixels are RGB, which has no limited range.
    public var isRGB: Bool {
        switch self {
        case .bgra, .bgrx, .rgba, .rgbx, .argb, .xrgb, .rgb24, .bgr24, .rgb565, .xrgb1555: true
        default: false
        }
    }

    /// Returns the number of bytes in a row without padding; of the first plane if there are several.
    public func minimumStride(width: Int) -> Int {
        if case .packed(let bytesPerPixel) = arrangement { return width * bytesPerPixel }
        return width
    }

    /// Returns the minimum number of bytes of a frame. Padding after the last row and an odd last column or row do
    /// not count.
    ///
    /// - Parameters:
    ///   - dimensions: The size that the device reports, which may be odd.
    ///   - stride: The number of bytes per row of the first plane (V4L2's `bytesperline`); 0 for rows without padding.
    /// - Returns: The number of bytes. It is nil for an empty frame or more than 16,384 pixels in width or height, and
    ///   for a stride that is shorter than a row or longer than 1 MiB.
    public func minimumByteCount(dimensions: Dimensions, stride: Int) -> Int? {
        RawFrameLayout(self, dimensions: dimensions, stride: stride)?.byteCount
    }
}
