import CFFmpeg
import PCastMedia

/// Brings libav's pictures, of whatever format and range, into ours: I420, limited range (COD6).
final class PictureConverter {
    private let pool = VideoFramePool()
    private var scaler: OpaquePointer?

    deinit { sws_freeContext(scaler) }

    /// - Parameter dimensions: scales to this size; nil keeps the picture's, made even by leaving out a row or column.
    func convert(
        _ picture: UnsafeMutablePointer<AVFrame>, to dimensions: Dimensions? = nil, captureTime: WallTime?,
        timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let width = Int(picture.pointee.width)
        let height = Int(picture.pointee.height)
        guard width > 1, height > 1 else { throw .damaged("a picture of \(width)x\(height)") }
        let target = dimensions ?? Dimensions(width: width & ~1, height: height & ~1)
        let frame = pool.frame(
            dimensions: target, captureTime: captureTime, timestamp: timestamp,
            matrix: MatrixCoefficients(of: picture))
        let format = AVPixelFormat(picture.pointee.format)
        if dimensions == nil, format == AV_PIX_FMT_YUV420P, picture.pointee.color_range != AVCOL_RANGE_JPEG {
            copy(picture, into: frame)
        } else {
            // Without a size of its own the source is cut, not squeezed, to even numbers.
            let source = dimensions == nil ? target : Dimensions(width: width, height: height)
            try scale(picture, format, width: source.width, height: source.height, into: frame)
        }
        return frame
    }

    private func copy(_ picture: UnsafeMutablePointer<AVFrame>, into frame: VideoFrame) {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        Self.copyPlane(picture.pointee.data.0, picture.pointee.linesize.0, frame.planeY, frame.strideY, width, height)
        let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
        Self.copyPlane(
            picture.pointee.data.1, picture.pointee.linesize.1, frame.planeU, frame.strideUV, halfWidth, halfHeight)
        Self.copyPlane(
            picture.pointee.data.2, picture.pointee.linesize.2, frame.planeV, frame.strideUV, halfWidth, halfHeight)
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
        _ picture: UnsafeMutablePointer<AVFrame>, _ format: AVPixelFormat, width: Int, height: Int,
        into frame: VideoFrame
    ) throws(CodecError) {
        scaler = sws_getCachedContext(
            scaler, Int32(width), Int32(height), format, Int32(frame.dimensions.width), Int32(frame.dimensions.height),
            AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil, nil, nil)
        guard let scaler else { throw .unsupported("pictures of pixel format \(format.rawValue) cannot be converted") }
        let isFullRange: Int32 = picture.pointee.color_range == AVCOL_RANGE_JPEG ? 1 : 0
        let table = sws_getCoefficients(SWS_CS_DEFAULT)
        sws_setColorspaceDetails(scaler, table, isFullRange, table, 0, 0, 1 << 16, 1 << 16)
        var source: [UnsafePointer<UInt8>?] = [
            UnsafePointer(picture.pointee.data.0), UnsafePointer(picture.pointee.data.1),
            UnsafePointer(picture.pointee.data.2), UnsafePointer(picture.pointee.data.3),
        ]
        var sourceStride = [
            picture.pointee.linesize.0, picture.pointee.linesize.1, picture.pointee.linesize.2,
            picture.pointee.linesize.3,
        ]
        var target: [UnsafeMutablePointer<UInt8>?] = [frame.planeY, frame.planeU, frame.planeV, nil]
        var targetStride = [Int32(frame.strideY), Int32(frame.strideUV), Int32(frame.strideUV), 0]
        sws_scale(scaler, &source, &sourceStride, 0, Int32(height), &target, &targetStride)
    }
}
