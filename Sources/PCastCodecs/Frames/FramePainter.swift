import CYUV
package import PCastCore

/// Draws frames to a BGRX canvas (libyuv): crops, scales, mirrors and rotates. Only one thread may use it at a time.
///
/// A part that is neither scaled nor rotated is converted directly from the frame to the canvas.
package final class FramePainter {
    private let scaler: FrameScaler
    private let rotator: FrameRotator

    /// Creates a painter.
    package init() {
        let pool = VideoFramePool(capacity: 2)
        scaler = FrameScaler(pool: pool)
        rotator = FrameRotator(pool: pool)
    }

    /// Draws a part of a frame to the canvas.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - part: The part of the frame. Its origin is rounded down to even numbers because of 4:2:0.
    ///   - mirroring: The mirroring.
    ///   - turn: The rotation after mirroring.
    ///   - target: The rectangle within the canvas.
    ///   - canvas: The first pixel of the canvas.
    ///   - stride: The number of bytes per row of the canvas.
    package func paint(
        _ frame: VideoFrame, part: FrameRectangle, mirrored mirroring: FrameMirroring = [],
        turned turn: FrameRotation = .none, at target: FrameRectangle, of canvas: UnsafeMutablePointer<UInt8>,
        stride: Int
    ) {
        guard !part.isEmpty, !target.isEmpty else { return }
        let (x, y) = (part.x & ~1, part.y & ~1)
        precondition(
            x >= 0 && y >= 0 && x + part.width <= frame.dimensions.width && y + part.height <= frame.dimensions.height,
            "the region must lie within the frame")
        var videoFrame = FramePlanes(frame, part: FrameRectangle(x: x, y: y, width: part.width, height: part.height))
        // Keeps the memory of the scaled or rotated part alive until it is drawn.
        var kept = frame
        let size = turn.exchangesSides ? target.dimensions.exchanged : target.dimensions
        if size != part.dimensions {
            kept = scaler.scale(videoFrame, to: size, like: frame)
            videoFrame = FramePlanes(kept)
        }
        if !mirroring.isEmpty || turn != .none {
            if videoFrame.isPart { kept = scaler.scale(videoFrame, to: size, like: frame) }
            kept = rotator.turn(kept, by: turn, mirrored: mirroring)
            videoFrame = FramePlanes(kept)
        }
        let result = withExtendedLifetime(kept) {
            cyuv_bgra(
                videoFrame.y, videoFrame.strideY, videoFrame.u, videoFrame.strideUV, videoFrame.v, videoFrame.strideUV,
                canvas + target.y * stride + target.x * 4, Int32(stride), frame.matrix.number, videoFrame.width,
                videoFrame.height)
        }
        precondition(result == 0, "libyuv rejects no frame with a valid size")
    }
}

extension Dimensions {
    fileprivate var exchanged: Dimensions { Dimensions(width: height, height: width) }
}

/// Rotates frames by multiples of 90° and mirrors them in one pass (libyuv). Only one thread may use it at a time.
package final class FrameRotator {
    private let pool: VideoFramePool

    /// Creates a rotator that takes its memory from a pool; nil for a pool of its own.
    package init(pool: VideoFramePool? = nil) { self.pool = pool ?? VideoFramePool() }

    /// Returns the frame, mirrored first and then rotated; the same frame if there is nothing to do.
    package func turn(
        _ frame: VideoFrame, by turn: FrameRotation, mirrored mirroring: FrameMirroring = []
    ) -> VideoFrame {
        // A horizontal flip equals a vertical flip and a rotation by 180°.
        let isFlipped = mirroring.contains(.horizontal) != mirroring.contains(.vertical)
        let turn = mirroring.contains(.horizontal) ? turn + .half : turn
        guard isFlipped || turn != .none else { return frame }
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let dimensions = turn.exchangesSides ? Dimensions(width: height, height: width) : frame.dimensions
        let target = pool.frame(
            dimensions: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp,
            color: frame.color)
        let (strideY, strideUV) = (Int32(frame.strideY), Int32(frame.strideUV))
        let (targetY, targetUV) = (Int32(target.strideY), Int32(target.strideUV))
        // libyuv reads a frame of negative height from the bottom.
        let rows = Int32(isFlipped ? -height : height)
        let result: Int32
        if isFlipped, turn == .half {
            result = I420Mirror(
                frame.planeY, strideY, frame.planeU, strideUV, frame.planeV, strideUV, target.planeY, targetY,
                target.planeU, targetUV, target.planeV, targetUV, Int32(width), Int32(height))
        } else {
            result = I420Rotate(
                frame.planeY, strideY, frame.planeU, strideUV, frame.planeV, strideUV, target.planeY, targetY,
                target.planeU, targetUV, target.planeV, targetUV, Int32(width), rows,
                RotationMode(rawValue: UInt32(turn.degrees)))
        }
        precondition(result == 0, "libyuv rejects no frame with a valid size")
        return target
    }
}

/// A clockwise rotation by a multiple of 90°.
public enum FrameRotation: Int, CaseIterable, Sendable {
    /// No rotation.
    case none = 0
    /// A quarter turn clockwise.
    case clockwise90 = 90
    /// A rotation by 180°.
    case half = 180
    /// A quarter turn counterclockwise.
    case clockwise270 = 270

    /// Creates a rotation from degrees, which may be negative or exceed 360. Returns nil if they are not a multiple of
    /// 90.
    public init?(degrees: Int) {
        let rest = degrees % 360
        self.init(rawValue: rest < 0 ? rest + 360 : rest)
    }

    /// The angle in degrees, clockwise.
    public var degrees: Int { rawValue }

    /// Whether the rotation exchanges width and height.
    public var exchangesSides: Bool { self == .clockwise90 || self == .clockwise270 }

    /// Returns the rotation that results from both.
    public static func + (first: FrameRotation, second: FrameRotation) -> FrameRotation {
        FrameRotation(degrees: first.degrees + second.degrees)!
    }
}

/// The mirroring of a frame. Both directions together equal a rotation by 180°.
public struct FrameMirroring: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Exchanges left and right, as in a mirror.
    public static let horizontal = FrameMirroring(rawValue: 1)
    /// Exchanges top and bottom.
    public static let vertical = FrameMirroring(rawValue: 2)
}
