import CYUV
public import PCastCore

/// Copies frames to an application's memory in its pixel format.
public enum FrameExport {
    /// A pixel format.
    public enum Format: String, CaseIterable, Sendable {
        /// Three planes (Y, U, V). The chroma planes have half the stride.
        case i420
        /// A plane of Y, then a plane of interleaved U and V with the same stride.
        case nv12
        /// Blue, green, red, and 255; full range.
        case bgra
        /// Red, green, blue, and 255; full range.
        case rgba
    }

    /// Returns the number of bytes in a row without padding; of the first plane if there are several.
    public static func minimumStride(_ format: Format, width: Int) -> Int {
        switch format {
        case .i420, .nv12: (width + 1) & ~1
        case .bgra, .rgba: width * 4
        }
    }

    /// Returns the number of bytes that `write` fills, including padding. The stride is the number of bytes per row of
    /// the first plane; 0 for rows without padding.
    public static func byteCount(_ format: Format, dimensions: Dimensions, stride: Int = 0) -> Int {
        let stride = stride == 0 ? minimumStride(format, width: dimensions.width) : stride
        let halfHeight = (dimensions.height + 1) / 2
        return switch format {
        case .i420: stride * dimensions.height + 2 * ((stride + 1) / 2) * halfHeight
        case .nv12: stride * dimensions.height + stride * halfHeight
        case .bgra, .rgba: stride * dimensions.height
        }
    }

    /// Copies a frame to memory.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - format: The pixel format to convert to.
    ///   - memory: The memory, of at least `byteCount` bytes.
    ///   - stride: The number of bytes per row of the first plane; 0 for rows without padding.
    /// - Throws: `CodecError.unsupported` if the memory is too small or the stride is shorter than a row.
    public static func write(
        _ frame: VideoFrame, as format: Format, into memory: UnsafeMutableRawBufferPointer, stride: Int = 0
    ) throws(CodecError) {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let row = minimumStride(format, width: width)
        let stride = stride == 0 ? row : stride
        guard stride >= row, stride <= 1 << 20 else {
            throw .unsupported("\(stride) bytes per row are too few for \(width) pixels")
        }
        let needed = byteCount(format, dimensions: frame.dimensions, stride: stride)
        guard memory.count >= needed, let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
            throw .unsupported("a frame of \(frame.dimensions) has \(needed) bytes, not \(memory.count)")
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
        guard result == 0 else { throw .failed("writing a frame", reason: "libyuv rejected \(frame.dimensions)") }
    }
}
