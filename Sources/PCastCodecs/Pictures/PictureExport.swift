import CYUV
public import PCastMedia

/// Pictures in a caller's own memory and format, for applications that show or examine them themselves.
public enum PictureExport {
    public enum Format: String, CaseIterable, Sendable {
        /// Three planes, Y, U, V, each without padding between rows but the stride's; colours have half the stride.
        case i420
        /// Y, and then U and V by turns with the same stride.
        case nv12
        /// Blue, green, red, and 255; full range.
        case bgra
        /// Red, green, blue, and 255; full range.
        case rgba
    }

    /// The bytes from one row to the next when there is nothing between them; of several planes, in the first.
    public static func minimumStride(_ format: Format, width: Int) -> Int {
        switch format {
        case .i420, .nv12: (width + 1) & ~1
        case .bgra, .rgba: width * 4
        }
    }

    /// The bytes that `write` fills, padding between rows included.
    ///
    /// - Parameter stride: bytes from row to row of the first plane; 0 for rows without padding.
    public static func byteCount(_ format: Format, dimensions: Dimensions, stride: Int = 0) -> Int {
        let stride = stride == 0 ? minimumStride(format, width: dimensions.width) : stride
        let halfHeight = (dimensions.height + 1) / 2
        return switch format {
        case .i420: stride * dimensions.height + 2 * ((stride + 1) / 2) * halfHeight
        case .nv12: stride * dimensions.height + stride * halfHeight
        case .bgra, .rgba: stride * dimensions.height
        }
    }

    /// Writes a picture into memory.
    ///
    /// - Parameters:
    ///   - memory: at least `byteCount` bytes.
    ///   - stride: bytes from row to row of the first plane; 0 for rows without padding.
    /// - Throws: `CodecError.unsupported` when the memory is too small or the stride shorter than a row.
    public static func write(
        _ frame: VideoFrame, as format: Format, into memory: UnsafeMutableRawBufferPointer, stride: Int = 0
    ) throws(CodecError) {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let row = minimumStride(format, width: width)
        let stride = stride == 0 ? row : stride
        guard stride >= row, stride <= 1 << 20 else { throw .unsupported("\(stride) bytes a row for \(width) pixels") }
        let needed = byteCount(format, dimensions: frame.dimensions, stride: stride)
        guard memory.count >= needed, let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
            throw .unsupported("a picture of \(frame.dimensions) takes \(needed) bytes, not \(memory.count)")
        }
        let second = base + stride * height
        let (y, u, v) = (frame.planeY, frame.planeU, frame.planeV)
        let (strideY, strideUV) = (Int32(frame.strideY), Int32(frame.strideUV))
        let (target, columns, rows) = (Int32(stride), Int32(width), Int32(height))
        let matrix = frame.matrix.number
        let result: Int32
        switch format {
        case .i420:
            let half = (stride + 1) / 2
            let third = second + half * ((height + 1) / 2)
            result = I420Copy(
                y, strideY, u, strideUV, v, strideUV, base, target, second, Int32(half), third, Int32(half), columns,
                rows)
        case .nv12:
            result = I420ToNV12(y, strideY, u, strideUV, v, strideUV, base, target, second, target, columns, rows)
        case .bgra: result = cyuv_bgra(y, strideY, u, strideUV, v, strideUV, base, target, matrix, columns, rows)
        case .rgba: result = cyuv_rgba(y, strideY, u, strideUV, v, strideUV, base, target, matrix, columns, rows)
        }
        guard result == 0 else { throw .failed("writing a picture", reason: "libyuv refused \(frame.dimensions)") }
    }
}
