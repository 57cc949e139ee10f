import CFFmpeg
package import PCastCore

/// Converts decoded frames of any format, range and geometry to I420 in limited range, upright, progressive and with
/// square pixels.
final class FrameConverter {
    private let pool = VideoFramePool()
    private var scaler: OpaquePointer?
    private let deinterlacer = Deinterlacer()
    private let rotator = FrameRotator()
    private let shaper = FrameScaler.Core()

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
            if square != coded { frame = try shaper.scale(frame, to: square) }
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

/// Scales frames (libswscale). Only one thread may use it at a time.
package final class FrameScaler {
    private let core = Core()

    /// Creates a scaler.
    package init() {}

    /// Returns the frame at another size with even sides; the same frame if it already has that size. Throws
    /// `CodecError.unsupported` if libswscale refuses the size.
    package func scale(_ frame: VideoFrame, to dimensions: Dimensions) throws(CodecError) -> VideoFrame {
        try core.scale(frame, to: dimensions)
    }

    /// The scaler, for types that also convert frames.
    final class Core {
        private let pool = VideoFramePool()
        private var scaler: OpaquePointer?

        deinit { sws_freeContext(scaler) }

        func scale(_ frame: VideoFrame, to dimensions: Dimensions) throws(CodecError) -> VideoFrame {
            guard frame.dimensions != dimensions else { return frame }
            let result = pool.frame(
                dimensions: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp, color: frame.color)
            scaler = sws_getCachedContext(
                scaler, Int32(frame.dimensions.width), Int32(frame.dimensions.height), AV_PIX_FMT_YUV420P,
                Int32(dimensions.width), Int32(dimensions.height), AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil, nil, nil)
            guard let scaler else {
                throw .unsupported("frames of \(frame.dimensions) cannot be scaled to \(dimensions)")
            }
            var source: [UnsafePointer<UInt8>?] = [
                UnsafePointer(frame.planeY), UnsafePointer(frame.planeU), UnsafePointer(frame.planeV), nil,
            ]
            var sourceStride = [Int32(frame.strideY), Int32(frame.strideUV), Int32(frame.strideUV), 0]
            var target: [UnsafeMutablePointer<UInt8>?] = [result.planeY, result.planeU, result.planeV, nil]
            var targetStride = [Int32(result.strideY), Int32(result.strideUV), Int32(result.strideUV), 0]
            sws_scale(scaler, &source, &sourceStride, 0, Int32(frame.dimensions.height), &target, &targetStride)
            return result
        }
    }
}
