public import PCastMedia

/// How the pixels of cameras (V4L2) and screens (X11) lie in memory.
///
/// Each name lists the bytes in the order of their addresses; the comments give V4L2's names.
public enum RawPixelFormat: String, CaseIterable, Sendable {
    /// 4:2:2 in one plane, Y U Y V (`YUYV`).
    case yuyv
    /// 4:2:2 in one plane, U Y V Y (`UYVY`).
    case uyvy
    /// 4:2:2 in one plane, Y V Y U (`YVYU`).
    case yvyu
    /// 4:2:2 in one plane, V Y U Y (`VYUY`).
    case vyuy
    /// 4:2:0, Y and then U and V by turns (`NV12`).
    case nv12
    /// 4:2:0, Y and then V and U by turns (`NV21`).
    case nv21
    /// 4:2:2, Y and then U and V by turns (`NV16`).
    case nv16
    /// 4:2:2, Y and then V and U by turns (`NV61`).
    case nv61
    /// 4:2:0 in three planes, Y, U, V (`YU12`).
    case i420
    /// 4:2:0 in three planes, Y, V, U (`YV12`).
    case yv12
    /// 4:2:2 in three planes, Y, U, V (`422P`).
    case i422
    /// Brightness alone (`GREY`).
    case grey
    /// Blue, green, red, and transparency, which is passed over (`AR24`).
    case bgra
    /// Blue, green, red, and a byte without meaning (`XR24`): X11's pictures of depth 24.
    case bgrx
    /// Red, green, blue, transparency (`AB24`).
    case rgba
    /// Red, green, blue, and a byte without meaning (`XB24`).
    case rgbx
    /// Transparency, red, green, blue (`BA24`).
    case argb
    /// A byte without meaning, red, green, blue (`BX24`).
    case xrgb
    /// Red, green, blue (`RGB3`).
    case rgb24
    /// Blue, green, red (`BGR3`).
    case bgr24
    /// 16 bits in little-endian order: five of red above six of green above five of blue (`RGBP`).
    case rgb565
    /// 16 bits in little-endian order: one without meaning above five each of red, green and blue (`XR15`).
    case xrgb1555

    /// How the planes lie.
    enum Arrangement: Equatable {
        /// One plane.
        case packed(bytesPerPixel: Int)
        /// A plane of brightness and one of both colours, with as many rows or half as many.
        case semiPlanar(isHalfHeight: Bool)
        /// Three planes.
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

    /// Whether its pixels are red, green and blue, which have no limited range.
    public var isRGB: Bool {
        switch self {
        case .bgra, .bgrx, .rgba, .rgbx, .argb, .xrgb, .rgb24, .bgr24, .rgb565, .xrgb1555: true
        default: false
        }
    }

    /// The bytes from one row to the next when there is nothing between them; of several planes, in the first.
    public func minimumStride(width: Int) -> Int {
        if case .packed(let bytesPerPixel) = arrangement { return width * bytesPerPixel }
        return width
    }

    /// The bytes that a picture takes at least: what lies after the last pixel's row is not asked for, and neither is
    /// an odd last column or row.
    ///
    /// - Parameters:
    ///   - dimensions: as the device says, also odd.
    ///   - stride: bytes from row to row of the first plane, V4L2's `bytesperline`; 0 for rows without padding.
    /// - Returns: nil when there can be no such picture: an empty one, one of more than 16384 pixels a side, or with a
    ///   stride shorter than a row or longer than 1 MiB.
    public func minimumByteCount(dimensions: Dimensions, stride: Int) -> Int? {
        RawPictureLayout(self, dimensions: dimensions, stride: stride)?.byteCount
    }
}
