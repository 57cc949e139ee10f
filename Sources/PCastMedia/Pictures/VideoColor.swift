/// How the samples of a video frame are to be read as colours: the matrix, the range, the primaries and the transfer
/// characteristics (ITU-T H.273).
///
/// It travels with each frame from the decoder or the device to the encoder, the scaler, the display, the screenshot and the
/// recording.
public struct VideoColor: Hashable, Sendable {
    /// The range of the samples (H.273, section 8.3, `VideoFullRangeFlag`).
    public enum Range: Hashable, Sendable {
        /// Luma from 16 to 235, chroma from 16 to 240.
        case limited
        /// Both from 0 to 255.
        case full
    }

    public var matrix: MatrixCoefficients
    public var range: Range
    /// The code point of the primaries (H.273, table 2): 1 for BT.709, 6 for BT.601 with 525 lines, 9 for BT.2020.
    public var primaries: UInt8
    /// The code point of the transfer characteristics (H.273, table 3): 1 for BT.709, 6 for BT.601, 16 for PQ, 18 for HLG.
    public var transfer: UInt8

    public init(matrix: MatrixCoefficients, range: Range = .limited, primaries: UInt8? = nil, transfer: UInt8? = nil) {
        (self.matrix, self.range) = (matrix, range)
        let usual: UInt8 = matrix == .bt709 ? 1 : 6
        self.primaries = primaries ?? usual
        self.transfer = transfer ?? usual
    }

    /// ITU-R BT.601 in limited range.
    public static let bt601 = VideoColor(matrix: .bt601)
    /// ITU-R BT.709 in limited range.
    public static let bt709 = VideoColor(matrix: .bt709)

    /// Returns the colours that are assumed for video that declares none: BT.709 for high definition, BT.601 below.
    ///
    /// H.264, annex E leaves "unspecified" to the application. VLC, mpv and browsers have the same rule.
    public static func assumed(for dimensions: Dimensions) -> VideoColor {
        dimensions.height > 576 || dimensions.width >= 1_280 ? .bt709 : .bt601
    }
}

extension MatrixCoefficients {
    /// The code point (H.273, table 4).
    public var code: UInt8 { self == .bt709 ? 1 : 6 }
}
