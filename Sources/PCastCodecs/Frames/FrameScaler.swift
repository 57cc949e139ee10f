import CFFmpeg
import CYUV
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

/// Scales frames down by a whole factor with averaging (libyuv). Only one thread may use it at a time.
package final class FrameDownscaler {
    private let pool = VideoFramePool()

    /// Creates a reducer.
    package init() {}

    /// Returns the size of a frame that is scaled down by a factor of at least 1. Both sides are even because of 4:2:0.
    package static func dimensions(of dimensions: Dimensions, reducedBy factor: Int) -> Dimensions {
        precondition(factor > 0, "the reduction factor must be positive")
        guard factor > 1 else { return dimensions }
        let side = { (length: Int) in max(length / factor & ~1, 2) }
        return Dimensions(width: side(dimensions.width), height: side(dimensions.height))
    }

    /// Returns the frame scaled down; the same frame for a factor of 1.
    package func reduce(_ frame: VideoFrame, by factor: Int) -> VideoFrame {
        let dimensions = Self.dimensions(of: frame.dimensions, reducedBy: factor)
        guard dimensions != frame.dimensions else { return frame }
        let target = pool.frame(
            dimensions: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let result = I420Scale(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideUV), frame.planeV,
            Int32(frame.strideUV), Int32(frame.dimensions.width), Int32(frame.dimensions.height), target.planeY,
            Int32(target.strideY), target.planeU, Int32(target.strideUV), target.planeV, Int32(target.strideUV),
            Int32(dimensions.width), Int32(dimensions.height), kFilterBox)
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return target
    }
}

/// Draws frames smaller on black (squeeze-back), which leaves space for graphics beside them. Only one thread may use
/// it at a time.
package final class SqueezeBackScaler {
    private let pool = VideoFramePool()

    /// Creates a squeezer.
    package init() {}

    /// Returns a black frame of the same size that shows the whole frame in `target`. The rectangle is clipped and
    /// rounded down to even numbers because of 4:2:0. If it is empty, the result is black.
    package func draw(_ frame: VideoFrame, into target: FrameRectangle) -> VideoFrame {
        let canvas = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let halfHeight = (frame.dimensions.height + 1) / 2
        // Black in limited range (ITU-R BT.601-7, section 2.5.3).
        canvas.planeY.update(repeating: 16, count: canvas.strideY * frame.dimensions.height)
        canvas.planeU.update(repeating: 128, count: canvas.strideUV * halfHeight)
        canvas.planeV.update(repeating: 128, count: canvas.strideUV * halfHeight)
        let (x, y) = (max(target.x, 0) & ~1, max(target.y, 0) & ~1)
        let width = min(target.width, frame.dimensions.width - x) & ~1
        let height = min(target.height, frame.dimensions.height - y) & ~1
        guard width >= 2, height >= 2 else { return canvas }
        let half = y / 2 * canvas.strideUV + x / 2
        let result = I420Scale(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideUV), frame.planeV,
            Int32(frame.strideUV), Int32(frame.dimensions.width), Int32(frame.dimensions.height),
            canvas.planeY + y * canvas.strideY + x, Int32(canvas.strideY), canvas.planeU + half,
            Int32(canvas.strideUV), canvas.planeV + half, Int32(canvas.strideUV), Int32(width), Int32(height),
            kFilterBox)
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return canvas
    }
}
