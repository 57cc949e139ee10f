import CYUV
package import PCastCore

/// Scales frames (libyuv): averages pixels when scaling to less than half, and interpolates otherwise. Only one thread
/// may use it at a time.
package final class FrameScaler {
    private let pool: VideoFramePool
    private let blender = GraphicBlender()

    /// Creates a scaler.
    package init() { pool = VideoFramePool() }

    init(pool: VideoFramePool) { self.pool = pool }

    /// Returns the frame at another size with even sides; the same frame if it already has that size.
    package func scale(_ frame: VideoFrame, to dimensions: Dimensions) -> VideoFrame {
        frame.dimensions == dimensions ? frame : scale(FramePlanes(frame), to: dimensions, like: frame)
    }

    /// Returns the size of a frame that is scaled down by a factor of at least 1. Both sides are even because of 4:2:0.
    package static func dimensions(of dimensions: Dimensions, reducedBy factor: Int) -> Dimensions {
        precondition(factor > 0, "the reduction factor must be positive")
        guard factor > 1 else { return dimensions }
        let side = { (length: Int) in max(length / factor & ~1, 2) }
        return Dimensions(width: side(dimensions.width), height: side(dimensions.height))
    }

    /// Returns the frame scaled down by a whole factor; the same frame for a factor of 1.
    package func reduce(_ frame: VideoFrame, by factor: Int) -> VideoFrame {
        scale(frame, to: Self.dimensions(of: frame.dimensions, reducedBy: factor))
    }

    /// Returns a part of a frame at another size with even sides. The part lies within the frame and begins at even
    /// coordinates.
    package func scale(_ frame: VideoFrame, part: FrameRectangle, to dimensions: Dimensions) -> VideoFrame {
        scale(FramePlanes(frame, part: part), to: dimensions, like: frame)
    }

    /// Returns a frame of the same size that shows the whole frame in `target` (squeeze-back), which leaves space for
    /// graphics beside it. Around the frame is `background`, stretched over the result, and black where that is
    /// transparent or nil. The rectangle is clipped and rounded down to even numbers because of 4:2:0. If it is empty, the
    /// result is the background.
    package func draw(
        _ frame: VideoFrame, into target: FrameRectangle, over background: Graphic? = nil
    ) -> VideoFrame {
        var canvas = newFrame(of: frame.dimensions, like: frame)
        let halfHeight = (frame.dimensions.height + 1) / 2
        // Black in limited range (ITU-R BT.601-7, section 2.5.3).
        canvas.planeY.update(repeating: 16, count: canvas.strideY * frame.dimensions.height)
        canvas.planeU.update(repeating: 128, count: canvas.strideUV * halfHeight)
        canvas.planeV.update(repeating: 128, count: canvas.strideUV * halfHeight)
        // Without memory for the background, it stays black.
        if let background, let drawn = try? blender.blend(background, over: canvas) { canvas = drawn }
        let (x, y) = (max(target.x, 0) & ~1, max(target.y, 0) & ~1)
        let width = min(target.width, frame.dimensions.width - x) & ~1
        let height = min(target.height, frame.dimensions.height - y) & ~1
        guard width >= 2, height >= 2 else { return canvas }
        let part = FrameRectangle(x: x, y: y, width: width, height: height)
        Self.scale(FramePlanes(frame), into: FramePlanes(canvas, part: part))
        return canvas
    }

    /// Returns a part of a frame at another size.
    func scale(_ part: FramePlanes, to dimensions: Dimensions, like frame: VideoFrame) -> VideoFrame {
        let result = newFrame(of: dimensions, like: frame)
        Self.scale(part, into: FramePlanes(result))
        return result
    }

    private func newFrame(of dimensions: Dimensions, like frame: VideoFrame) -> VideoFrame {
        pool.frame(
            dimensions: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp, color: frame.color)
    }

    private static func scale(_ source: FramePlanes, into target: FramePlanes) {
        let result = I420Scale(
            source.y, source.strideY, source.u, source.strideUV, source.v, source.strideUV, source.width, source.height,
            target.y, target.strideY, target.u, target.strideUV, target.v, target.strideUV, target.width, target.height,
            kFilterBox)
        precondition(result == 0, "libyuv rejects no frame with a valid size")
    }
}

/// The planes of a frame or of a part of one, as arguments for libyuv. They are valid as long as the frame.
struct FramePlanes {
    let y, u, v: UnsafeMutablePointer<UInt8>
    let strideY, strideUV, width, height: Int32
    /// Whether it is only a part.
    let isPart: Bool

    /// Refers to the whole frame.
    init(_ frame: VideoFrame) {
        (y, u, v) = (frame.planeY, frame.planeU, frame.planeV)
        (strideY, strideUV) = (Int32(frame.strideY), Int32(frame.strideUV))
        (width, height) = (Int32(frame.dimensions.width), Int32(frame.dimensions.height))
        isPart = false
    }

    /// Refers to a part that lies within the frame and begins at even coordinates.
    init(_ frame: VideoFrame, part: FrameRectangle) {
        y = frame.planeY + part.y * frame.strideY + part.x
        u = frame.planeU + part.y / 2 * frame.strideUV + part.x / 2
        v = frame.planeV + part.y / 2 * frame.strideUV + part.x / 2
        (strideY, strideUV) = (Int32(frame.strideY), Int32(frame.strideUV))
        (width, height) = (Int32(part.width), Int32(part.height))
        isPart = true
    }
}
