/// One decoded picture in I420 (4:2:0, three planes, limited range), immutable once made.
///
/// A class, because a picture is shared by reference between renderer, screenshot and preview; its memory goes back
/// to where it came from (a pool) when the last of them lets go.
public final class VideoFrame: @unchecked Sendable {  // the planes are written only before `init` returns
    public let dimensions: Dimensions

    /// When the picture was captured, UTC; nil when nobody knows.
    public let captureTime: WallTime?

    /// Its moment in the track.
    public let timestamp: MediaTime

    /// How its samples are to be read; always of limited range.
    public let color: VideoColor

    /// How its luma and chroma were made of red, green and blue.
    public var matrix: MatrixCoefficients { color.matrix }

    /// Y, then U, then V, each plane's rows `strideY` or `strideUV` apart.
    public let memory: UnsafeMutableRawBufferPointer
    public let strideY: Int
    public let strideUV: Int

    private let release: (UnsafeMutableRawBufferPointer) -> Void

    /// The bytes that an I420 picture takes with rows padded to `alignment`.
    public static func layout(
        _ dimensions: Dimensions, alignment: Int = 32
    ) -> (strideY: Int, strideUV: Int, byteCount: Int) {
        let pad = { (width: Int) in (width + alignment - 1) / alignment * alignment }
        let strideY = pad(dimensions.width)
        let strideUV = pad((dimensions.width + 1) / 2)
        let byteCount = strideY * dimensions.height + 2 * strideUV * ((dimensions.height + 1) / 2)
        return (strideY, strideUV, byteCount)
    }

    /// - Parameters:
    ///   - memory: at least `layout(dimensions).byteCount` bytes, laid out as `layout` says.
    ///   - release: takes the memory back; called once.
    public init(
        dimensions: Dimensions, captureTime: WallTime?, timestamp: MediaTime, color: VideoColor = .bt601,
        memory: UnsafeMutableRawBufferPointer,
        release: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void
    ) {
        precondition(color.range == .limited, "the samples of a frame are of limited range")
        let layout = Self.layout(dimensions)
        precondition(memory.count >= layout.byteCount, "a picture's memory is too small for it")
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

    public var planeY: UnsafeMutablePointer<UInt8> {
        memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
    }
    public var planeU: UnsafeMutablePointer<UInt8> { planeY + strideY * dimensions.height }
    public var planeV: UnsafeMutablePointer<UInt8> { planeU + strideUV * ((dimensions.height + 1) / 2) }

    /// The same picture under another time. It keeps this one alive.
    public func retimed(captureTime: WallTime?, timestamp: MediaTime) -> VideoFrame {
        VideoFrame(
            dimensions: dimensions, captureTime: captureTime, timestamp: timestamp, color: color, memory: memory,
            release: { [self] _ in _ = self })
    }
}
