import CFFmpeg
import PCastCore

/// Converts decoded frames of any format, range and geometry to I420 in limited range, upright, progressive and with
/// square pixels.
final class FrameConverter {
    private let pool = VideoFramePool()
    private var scaler: OpaquePointer?
    private let deinterlacer = Deinterlacer()
    private let rotator = FrameRotator()
    private let shaper = FrameScaler()

    deinit { sws_freeContext(scaler) }

    /// Converts a frame with the container's geometry. An odd last column or row is cropped. Throws
    /// `CodecError.damaged` for an empty frame, or `CodecError.unsupported` for a pixel format that cannot be
    /// converted.
    func convert(
        _ videoFrame: UnsafeMutablePointer<AVFrame>, geometry: FrameGeometry = FrameGeometry(), captureTime: WallTime?,
        timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let (width, height) = (Int(videoFrame.pointee.width), Int(videoFrame.pointee.height))
        guard width > 1, height > 1 else { throw .damaged("a frame of \(width)x\(height)") }
        let geometry = geometry.refined(by: videoFrame)
        let coded = Dimensions(width: width & ~1, height: height & ~1)
        let square = geometry.sampleAspectRatio?.squareDimensions(of: coded) ?? coded
        let color = SourceColor(videoFrame)
        var frame: VideoFrame
        if videoFrame.pointee.interlaced_frame != 0 {
            frame = try progressive(videoFrame, coded, color, captureTime, timestamp)
            if square != coded { frame = shaper.scale(frame, to: square) }
        } else {
            deinterlacer.reset()
            frame = pool.frame(
                dimensions: square, captureTime: captureTime, timestamp: timestamp, color: color.color)
            try fill(frame, from: videoFrame, coded, color)
        }
        return rotator.turn(frame, by: geometry.turn, mirrored: geometry.mirroring)
    }

    private func progressive(
        _ videoFrame: UnsafeMutablePointer<AVFrame>, _ coded: Dimensions, _ color: SourceColor,
        _ captureTime: WallTime?,
        _ timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let woven = pool.frame(dimensions: coded, captureTime: captureTime, timestamp: timestamp, color: color.color)
        try fill(woven, from: videoFrame, coded, color)
        return deinterlacer.deinterlace(woven, keeping: videoFrame.pointee.top_field_first != 0 ? .top : .bottom)
    }

    /// Fills a frame from the `coded` part of the decoded picture. The rest is cropped and not scaled.
    private func fill(
        _ frame: VideoFrame, from videoFrame: UnsafeMutablePointer<AVFrame>, _ coded: Dimensions, _ color: SourceColor
    ) throws(CodecError) {
        let format = AVPixelFormat(videoFrame.pointee.format)
        if frame.dimensions == coded, format == AV_PIX_FMT_YUV420P, color.isPlain {
            copy(videoFrame, into: frame)
        } else {
            try scale(videoFrame, format, coded, color, into: frame)
        }
    }

    private func copy(_ videoFrame: UnsafeMutablePointer<AVFrame>, into frame: VideoFrame) {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        Self.copyPlane(
            videoFrame.pointee.data.0, videoFrame.pointee.linesize.0, frame.planeY, frame.strideY, width, height)
        let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
        Self.copyPlane(
            videoFrame.pointee.data.1, videoFrame.pointee.linesize.1, frame.planeU, frame.strideUV, halfWidth,
            halfHeight)
        Self.copyPlane(
            videoFrame.pointee.data.2, videoFrame.pointee.linesize.2, frame.planeV, frame.strideUV, halfWidth,
            halfHeight)
    }

    private static func copyPlane(
        _ source: UnsafeMutablePointer<UInt8>?, _ sourceStride: Int32, _ target: UnsafeMutablePointer<UInt8>,
        _ targetStride: Int, _ width: Int, _ height: Int
    ) {
        guard let source else { return }
        for row in 0..<height {
            (target + row * targetStride).update(from: source + row * Int(sourceStride), count: width)
        }
    }

    private func scale(
        _ videoFrame: UnsafeMutablePointer<AVFrame>, _ format: AVPixelFormat, _ coded: Dimensions, _ color: SourceColor,
        into frame: VideoFrame
    ) throws(CodecError) {
        scaler = sws_getCachedContext(
            scaler, Int32(coded.width), Int32(coded.height), format, Int32(frame.dimensions.width),
            Int32(frame.dimensions.height), AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil, nil, nil)
        guard let scaler else { throw .unsupported("the pixel format \(format.rawValue) is not supported") }
        sws_setColorspaceDetails(
            scaler, color.coefficients, color.isFullRange ? 1 : 0, frame.matrix.coefficients, 0, 0, 1 << 16, 1 << 16)
        var source: [UnsafePointer<UInt8>?] = [
            UnsafePointer(videoFrame.pointee.data.0), UnsafePointer(videoFrame.pointee.data.1),
            UnsafePointer(videoFrame.pointee.data.2), UnsafePointer(videoFrame.pointee.data.3),
        ]
        var sourceStride = [
            videoFrame.pointee.linesize.0, videoFrame.pointee.linesize.1, videoFrame.pointee.linesize.2,
            videoFrame.pointee.linesize.3,
        ]
        var target: [UnsafeMutablePointer<UInt8>?] = [frame.planeY, frame.planeU, frame.planeV, nil]
        var targetStride = [Int32(frame.strideY), Int32(frame.strideUV), Int32(frame.strideUV), 0]
        sws_scale(scaler, &source, &sourceStride, 0, Int32(coded.height), &target, &targetStride)
    }
}

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

    /// Reads the color description of a frame. What it does not declare is assumed from its size. BT.2020 and SMPTE
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
