/// A decoded, immutable video frame in I420 (4:2:0, three planes, limited range).
///
/// It is a class because renderer, screenshot and preview share a frame by reference. When the last reference is gone,
/// the memory returns to its owner, such as a pool.
public final class VideoFrame: @unchecked Sendable {  // the planes are written only before `init` returns
    /// The size of the frame in pixels.
    public let dimensions: Dimensions

    /// The UTC time of capture; nil if unknown.
    public let captureTime: WallTime?

    /// The time in the track.
    public let timestamp: MediaTime

    /// The color space of the samples, always with limited range.
    public let color: VideoColor

    /// The matrix that converts to RGB.
    public var matrix: MatrixCoefficients { color.matrix }

    /// The planes Y, U and V. The rows of a plane are `strideY` or `strideUV` bytes apart.
    public let memory: UnsafeMutableRawBufferPointer
    /// The distance between rows of the luma plane in bytes.
    public let strideY: Int
    /// The distance between rows of a chroma plane in bytes.
    public let strideUV: Int

    private let release: (UnsafeMutableRawBufferPointer) -> Void

    /// Returns the strides and the total size in bytes of an I420 frame whose rows are padded to `alignment`.
    public static func layout(
        _ dimensions: Dimensions, alignment: Int = 32
    ) -> (strideY: Int, strideUV: Int, byteCount: Int) {
        let pad = { (width: Int) in (width + alignment - 1) / alignment * alignment }
        let strideY = pad(dimensions.width)
        let strideUV = pad((dimensions.width + 1) / 2)
        let byteCount = strideY * dimensions.height + 2 * strideUV * ((dimensions.height + 1) / 2)
        return (strideY, strideUV, byteCount)
    }

    /// Creates a frame from memory that holds at least `layout(dimensions).byteCount` bytes in that layout. `release`
    /// is called once to return the memory. Traps if the memory is too small or the range of `color` is not limited.
    public init(
        dimensions: Dimensions, captureTime: WallTime?, timestamp: MediaTime, color: VideoColor = .bt601,
        memory: UnsafeMutableRawBufferPointer,
        release: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void
    ) {
        precondition(color.range == .limited, "the samples of a frame must have limited range")
        let layout = Self.layout(dimensions)
        precondition(memory.count >= layout.byteCount, "the memory is too small for the frame")
        self.dimensions = dimensions
        self.captureTime = captureTime
        self.timestamp = timestamp
        self.color = color
        self.memory = memory
        self.release = release
        strideY = layout.strideY
        strideUV = layout.strideUV
    }

    deinit { release(memory) }

    /// The luma plane.
    public var planeY: UnsafeMutablePointer<UInt8> {
        memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
    }
    /// The first chroma plane (Cb).
    public var planeU: UnsafeMutablePointer<UInt8> { planeY + strideY * dimensions.height }
    /// The second chroma plane (Cr).
    public var planeV: UnsafeMutablePointer<UInt8> { planeU + strideUV * ((dimensions.height + 1) / 2) }

    /// Returns the same frame with other times. The copy shares the memory of this frame and keeps it alive.
    public func retimed(captureTime: WallTime?, timestamp: MediaTime) -> VideoFrame {
        VideoFrame(
            dimensions: dimensions, captureTime: captureTime, timestamp: timestamp, color: color, memory: memory,
            release: { [self] _ in _ = self })
    }
}

/// A rectangle of a frame or a window, in pixels from its upper left corner.
public struct FrameRectangle: Hashable, Sendable {
    /// The left edge.
    public var x: Int
    /// The upper edge.
    public var y: Int
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a rectangle.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Creates a rectangle that covers a whole frame or window.
    public init(_ dimensions: Dimensions) {
        self.init(x: 0, y: 0, width: dimensions.width, height: dimensions.height)
    }

    /// The size of the rectangle.
    public var dimensions: Dimensions { Dimensions(width: width, height: height) }

    /// Whether the rectangle contains no pixel.
    public var isEmpty: Bool { width <= 0 || height <= 0 }
}

/// The size of a frame in pixels.
public struct Dimensions: Hashable, Sendable, CustomStringConvertible {
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The size as text, such as `1280x720`.
    public var description: String { "\(width)x\(height)" }
}

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
