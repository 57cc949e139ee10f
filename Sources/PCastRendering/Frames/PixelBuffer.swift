public import PCastCodecs
public import PCastMedia

/// A picture's pixels in memory of their own, as an application reads and writes them.
public struct PixelBuffer: Sendable, Equatable {
    public typealias Format = PictureExport.Format

    public var format: Format
    public var dimensions: Dimensions

    /// Bytes from row to row of the first plane; of I420 the colours have half of it, of NV12 the same.
    public var stride: Int

    /// The planes, one after the other.
    public var bytes: [UInt8]

    /// - Parameter stride: 0 for rows without padding.
    public init(format: Format, dimensions: Dimensions, stride: Int = 0, bytes: [UInt8]) {
        self.format = format
        self.dimensions = dimensions
        self.stride = stride == 0 ? PictureExport.minimumStride(format, width: dimensions.width) : stride
        self.bytes = bytes
    }

    /// A picture's pixels.
    ///
    /// - Throws: `CodecError` when there is no such picture.
    public init(_ frame: VideoFrame, format: Format) throws(CodecError) {
        let count = PictureExport.byteCount(format, dimensions: frame.dimensions)
        var bytes = [UInt8](repeating: 0, count: count)
        let written: Result<Void, CodecError> = bytes.withUnsafeMutableBytes { memory in
            do throws(CodecError) {
                return .success(try PictureExport.write(frame, as: format, into: memory))
            } catch {
                return .failure(error)
            }
        }
        try written.get()
        self.init(format: format, dimensions: frame.dimensions, bytes: bytes)
    }

    /// The pixels as a picture, which takes even dimensions: an odd last column or row is left out.
    ///
    /// - Parameters:
    ///   - frame: whose time it has, and whose colours I420 and NV12 have.
    /// - Throws: `CodecError.damaged` when the bytes are too few.
    public func frame(like frame: VideoFrame, by converter: RawPictureConverter) throws(CodecError) -> VideoFrame {
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
