import CFFmpeg
import PCastCore

extension MatrixCoefficients {
    /// The number of the matrix for `cyuv_bgra`.
    var number: Int32 { self == .bt709 ? 709 : 601 }

    /// The coefficients of the matrix for libswscale.
    var coefficients: UnsafePointer<Int32>? { sws_getCoefficients(self == .bt709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT) }
}

/// The color description of a decoded picture, and that of the frame that it is converted to.
struct SourceColor {
    /// The color description of the frame: limited range, BT.601 or BT.709.
    let color: VideoColor
    let isFullRange: Bool
    /// libswscale's number of the frame's own matrix.
    private let table: Int32
    private let targetTable: Int32

    var coefficients: UnsafePointer<Int32>? { sws_getCoefficients(table) }
    /// Whether the samples need no conversion.
    var isPlain: Bool { !isFullRange && table == targetTable }

    /// Reads the color description of a picture. What it does not declare is assumed from its size. BT.2020 and SMPTE
    /// 240M are converted to BT.709, and FCC to BT.601.
    init(_ frame: UnsafeMutablePointer<AVFrame>) {
        let size = Dimensions(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let matrix: MatrixCoefficients
        switch frame.pointee.colorspace {
        case AVCOL_SPC_BT709: (matrix, table) = (.bt709, SWS_CS_ITU709)
        case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: (matrix, table) = (.bt601, SWS_CS_DEFAULT)
        case AVCOL_SPC_FCC: (matrix, table) = (.bt601, SWS_CS_FCC)
        case AVCOL_SPC_SMPTE240M: (matrix, table) = (.bt709, SWS_CS_SMPTE240M)
        case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: (matrix, table) = (.bt709, SWS_CS_BT2020)
        default:
            matrix = VideoColor.assumed(for: size).matrix
            table = matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT
        }
        targetTable = matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT
        isFullRange = frame.pointee.color_range == AVCOL_RANGE_JPEG
        color = VideoColor(
            matrix: matrix, primaries: Self.code(frame.pointee.color_primaries.rawValue),
            transfer: Self.code(frame.pointee.color_trc.rawValue))
    }

    /// Returns a code point of ITU-T H.273, which FFmpeg's numbers are; nil if it is reserved or unspecified.
    private static func code(_ number: UInt32) -> UInt8? { number > 2 || number == 1 ? UInt8(exactly: number) : nil }
}

extension VideoColor {
    /// Reads the color description from a track's header. Returns nil if it declares neither matrix nor full range.
    /// Other values are assumed from the size.
    init?(_ parameters: UnsafeMutablePointer<AVCodecParameters>, _ dimensions: Dimensions) {
        let matrix: MatrixCoefficients? =
            switch parameters.pointee.color_space {
            case AVCOL_SPC_BT709: .bt709
            case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: .bt601
            default: nil
            }
        let isFull = parameters.pointee.color_range == AVCOL_RANGE_JPEG
        guard matrix != nil || isFull else { return nil }
        func code(_ number: UInt32) -> UInt8? { number > 2 || number == 1 ? UInt8(exactly: number) : nil }
        self.init(
            matrix: matrix ?? VideoColor.assumed(for: dimensions).matrix, range: isFull ? .full : .limited,
            primaries: code(parameters.pointee.color_primaries.rawValue),
            transfer: code(parameters.pointee.color_trc.rawValue))
    }

    var libavSpace: AVColorSpace { matrix == .bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M }
    var libavRange: AVColorRange { range == .full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG }
    var libavPrimaries: AVColorPrimaries { AVColorPrimaries(UInt32(primaries)) }
    var libavTransfer: AVColorTransferCharacteristic { AVColorTransferCharacteristic(UInt32(transfer)) }
}

extension UnsafeMutablePointer<AVFrame> {
    /// Sets the color description of the samples.
    func describe(_ color: VideoColor) {
        pointee.color_range = color.libavRange
        pointee.colorspace = color.libavSpace
        pointee.color_primaries = color.libavPrimaries
        pointee.color_trc = color.libavTransfer
    }
}

extension UnsafeMutablePointer<AVCodecContext> {
    func describe(_ color: VideoColor) {
        pointee.color_range = color.libavRange
        pointee.colorspace = color.libavSpace
        pointee.color_primaries = color.libavPrimaries
        pointee.color_trc = color.libavTransfer
    }
}

extension UnsafeMutablePointer<AVCodecParameters> {
    func describe(_ color: VideoColor) {
        pointee.color_range = color.libavRange
        pointee.color_space = color.libavSpace
        pointee.color_primaries = color.libavPrimaries
        pointee.color_trc = color.libavTransfer
    }
}
