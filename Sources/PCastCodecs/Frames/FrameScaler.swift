import CFFmpeg
package import PCastCore

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
