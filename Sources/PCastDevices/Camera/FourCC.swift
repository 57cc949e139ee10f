import CV4L2
import PCastCodecs

/// A V4L2 pixel format code: four characters in a number.
struct FourCC: Hashable, Sendable {
    let code: UInt32

    init(_ code: UInt32) { self.code = code }

    init(_ text: StaticString) {
        code = text.withUTF8Buffer { $0.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// Creates a code from its name. Returns nil if the name has not four characters.
    init?(name: String) {
        guard name.utf8.count == 4 else { return nil }
        code = name.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The name. The highest bit marks big-endian formats, which are not supported.
    var name: String {
        let letters = (0..<4).map { code >> (8 * $0) & 0x7F }.map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }
        let text = String(decoding: letters.map(UInt8.init), as: UTF8.self)
        return code >> 31 == 0 ? text : text + "-BE"
    }

    /// The raw formats that can be converted.
    static let raw: [FourCC: RawPixelFormat] = [
        FourCC("NV12"): .nv12, FourCC("YU12"): .i420, FourCC("YUYV"): .yuyv, FourCC("UYVY"): .uyvy,
        FourCC("YVYU"): .yvyu, FourCC("VYUY"): .vyuy, FourCC("NV21"): .nv21, FourCC("NV16"): .nv16,
        FourCC("NV61"): .nv61, FourCC("YV12"): .yv12, FourCC("422P"): .i422, FourCC("GREY"): .grey,
        FourCC("AR24"): .bgra, FourCC("XR24"): .bgrx, FourCC("BGR4"): .bgrx, FourCC("AB24"): .rgba,
        FourCC("XB24"): .rgbx, FourCC("BA24"): .argb, FourCC("BX24"): .xrgb, FourCC("RGB4"): .xrgb,
        FourCC("RGB3"): .rgb24, FourCC("BGR3"): .bgr24, FourCC("RGBP"): .rgb565, FourCC("XR15"): .xrgb1555,
    ]

    var raw: RawPixelFormat? { Self.raw[self] }
    var isJPEG: Bool { self == FourCC("MJPG") || self == FourCC("JPEG") }
    var isH264: Bool { self == FourCC("H264") }

    var encoding: CaptureEncoding {
        switch raw {
        case .yuyv: .yuyv
        case .nv12: .nv12
        case .i420: .i420
        default: isJPEG ? .mjpeg : isH264 ? .h264 : .other(name)
        }
    }
}

extension CaptureEncoding {
    /// Whether a camera's frames in this encoding can be captured. These are the named encodings, and other raw ones
    /// that can be converted, such as UYVY, GREY and RGB3.
    public var isCapturable: Bool {
        switch self {
        case .yuyv, .nv12, .i420, .mjpeg, .h264: true
        case .computed: false
        case .other(let name): FourCC(name: name)?.raw != nil
        }
    }
}
