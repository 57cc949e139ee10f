public import PCastCodecs
public import PCastCore

/// The pixels of a frame in memory that an application owns.
public struct PixelBuffer: Sendable, Equatable {
    /// A pixel format.
    public typealias Format = FrameExport.Format

    /// The pixel format.
    public var format: Format
    /// The size in pixels.
    public var dimensions: Dimensions

    /// The number of bytes per row of the first plane. The chroma planes of I420 have half of it, the one of NV12 the
    /// same.
    public var stride: Int

    /// The planes, one after the other.
    public var bytes: [UInt8]

    /// Creates a buffer from bytes. The stride is 0 for rows without padding.
    public init(format: Format, dimensions: Dimensions, stride: Int = 0, bytes: [UInt8]) {
        self.format = format
        self.dimensions = dimensions
        self.stride = stride == 0 ? FrameExport.minimumStride(format, width: dimensions.width) : stride
        self.bytes = bytes
    }

    /// Copies a frame's pixels. Throws `CodecError` if they cannot be converted.
    public init(_ frame: VideoFrame, format: Format) throws(CodecError) {
        let count = FrameExport.byteCount(format, dimensions: frame.dimensions)
        var bytes = [UInt8](repeating: 0, count: count)
        let written: Result<Void, CodecError> = bytes.withUnsafeMutableBytes { memory in
            do throws(CodecError) {
                return .success(try FrameExport.write(frame, as: format, into: memory))
            } catch {
                return .failure(error)
            }
        }
        try written.get()
        self.init(format: format, dimensions: frame.dimensions, bytes: bytes)
    }

    /// Returns the pixels as a frame with the timestamps of `frame`. I420 and NV12 also get its matrix. An odd last
    /// column or row is cropped. Throws `CodecError.damaged` if the bytes are too few.
    public func frame(like frame: VideoFrame, by converter: RawFrameConverter) throws(CodecError) -> VideoFrame {
        let raw: RawPixelFormat =
            switch format {
            case .i420: .i420
            case .nv12: .nv12
            case .bgra: .bgra
            case .rgba: .rgba
            }
        let converted: Result<VideoFrame, CodecError> = bytes.withUnsafeBytes { bytes in
            do throws(CodecError) {
                return .success(
                    try converter.convert(
                        bytes, format: raw, dimensions: dimensions, stride: stride, isFullRange: false,
                        matrix: raw.isRGB ? .bt601 : frame.matrix, captureTime: frame.captureTime,
                        timestamp: frame.timestamp))
            } catch {
                return .failure(error)
            }
        }
        return try converted.get()
    }
}
