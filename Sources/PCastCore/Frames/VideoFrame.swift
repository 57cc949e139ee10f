/// A decoded, immutable video frame in I420 (4:2:0, three planes, limited range).
///
/// It is a class because renderer, screenshot and preview share a frame by reference. When the last reference is gone,
/// the memory returns to its owner, such as a pool.
///
/// It is marked `@safe` for these reasons. `init` checks that the memory has space for the planes. The frame keeps the
/// memory until `deinit`, and only its creator writes into it, before it passes the frame on. The planes are pointers,
/// which the caller may use as long as it has a reference to the frame.
@safe
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
        unsafe self.memory = memory
        unsafe self.release = release
        strideY = layout.strideY
        strideUV = layout.strideUV
    }

    deinit { unsafe release(memory) }

    /// The luma plane.
    public var planeY: UnsafeMutablePointer<UInt8> {
        unsafe memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
    }
    /// The first chroma plane (Cb).
    public var planeU: UnsafeMutablePointer<UInt8> { unsafe planeY + strideY * dimensions.height }
    /// The second chroma plane (Cr).
    public var planeV: UnsafeMutablePointer<UInt8> { unsafe planeU + strideUV * ((dimensions.height + 1) / 2) }

    /// The luma plane, whose bounds are checked.
    package var luma: MutableByteView { unsafe view(planeY, strideY * dimensions.height) }
    /// The chroma planes Cb and Cr, whose bounds are checked.
    package var chroma: (u: MutableByteView, v: MutableByteView) {
        let size = strideUV * ((dimensions.height + 1) / 2)
        return unsafe (view(planeU, size), view(planeV, size))
    }

    private func view(_ plane: UnsafeMutablePointer<UInt8>, _ size: Int) -> MutableByteView {
        unsafe MutableByteView(UnsafeMutableBufferPointer(start: plane, count: size))
    }

    /// Returns the same frame with other times. The copy shares the memory of this frame and keeps it alive.
    public func retimed(captureTime: WallTime?, timestamp: MediaTime) -> VideoFrame {
        unsafe VideoFrame(
            dimensions: dimensions, captureTime: captureTime, timestamp: timestamp, color: color, memory: memory,
            release: { [self] _ in _ = self })
    }
}
