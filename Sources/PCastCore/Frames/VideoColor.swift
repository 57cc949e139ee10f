/// The color space of a video frame: matrix, range, primaries and transfer characteristics (ITU-T H.273).
///
/// Each frame carries it from the decoder or device to the encoder, scaler, display, screenshot and recording.
public struct VideoColor: Hashable, Sendable {
    /// The range of the samples (`VideoFullRangeFlag`; H.273, section 8.3).
    public enum Range: Hashable, Sendable {
        /// Luma from 16 to 235 and chroma from 16 to 240.
        case limited
        /// Luma and chroma from 0 to 255.
        case full
    }

    /// The matrix that converts to RGB.
    public var matrix: MatrixCoefficients
    /// The range of the samples.
    public var range: Range
    /// The code point of the primaries (H.273, table 2), such as 1 for BT.709, 6 for BT.601 with 525 lines and 9 for
    /// BT.2020.
    public var primaries: UInt8
    /// The code point of the transfer characteristics (H.273, table 3), such as 1 for BT.709, 6 for BT.601, 16 for PQ
    /// and 18 for HLG.
    public var transfer: UInt8

    /// Creates a color space. Primaries and transfer characteristics default to those of the matrix.
    public init(matrix: MatrixCoefficients, range: Range = .limited, primaries: UInt8? = nil, transfer: UInt8? = nil) {
        (self.matrix, self.range) = (matrix, range)
        let typical: UInt8 = matrix == .bt709 ? 1 : 6
        self.primaries = primaries ?? typical
        self.transfer = transfer ?? typical
    }

    /// ITU-R BT.601 with limited range.
    public static let bt601 = VideoColor(matrix: .bt601)
    /// ITU-R BT.709 with limited range.
    public static let bt709 = VideoColor(matrix: .bt709)

    /// Returns the color space of video that declares none: BT.709 for high definition, BT.601 otherwise.
    ///
    /// H.264, annex E leaves the "unspecified" values to the application. VLC, mpv and browsers follow the same rule.
    public static func assumed(for dimensions: Dimensions) -> VideoColor {
        dimensions.height > 576 || dimensions.width >= 1_280 ? .bt709 : .bt601
    }
}

extension MatrixCoefficients {
    /// The code point (H.273, table 4).
    public var code: UInt8 { self == .bt709 ? 1 : 6 }
}

/// The matrix that converts between RGB and luma and chroma (ITU-T H.273, table 4).
public enum MatrixCoefficients: Hashable, Sendable {
    /// ITU-R BT.601 (H.273, code points 5 and 6). Cameras use it, and it is the default.
    case bt601
    /// ITU-R BT.709 for high-definition video (H.273, code point 1).
    case bt709
}
