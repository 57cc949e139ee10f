import CYUV
public import PCastMedia

/// Makes pictures of a camera's or a screen's raw bytes, by libyuv, in one pass. Used by one thread at a time.
///
/// What comes out is I420 in limited range, BT.601 but where the device says otherwise (COD6). Red, green and blue are always taken as
/// full range.
public final class RawPictureConverter {
    /// Rows worked on at once where there is a second step: they stay in the processor's cache between the two.
    private static let stripHeight = 16

    private let pool: VideoFramePool
    /// Colours of a strip whose rows were halved.
    private var scratch: [UInt8] = []

    /// - Parameter pool: where the pictures' memory comes from; nil for one of its own.
    public init(pool: VideoFramePool? = nil) { self.pool = pool ?? VideoFramePool() }

    /// - Parameters:
    ///   - bytes: a whole picture, from its first row on. Copied from before this returns.
    ///   - dimensions: as the device says. An odd last column or row is left out.
    ///   - stride: bytes from row to row of the first plane, V4L2's `bytesperline`; 0 for rows without padding.
    ///   - isFullRange: whether brightness goes from 0 to 255 and not from 16 to 235.
    ///   - matrix: of brightness and colours; red, green and blue become BT.601.
    /// - Throws: `CodecError.damaged` when the bytes are too few for such a picture, or there is none such.
    public func convert(
        _ bytes: UnsafeRawBufferPointer, format: RawPixelFormat, dimensions: Dimensions, stride: Int = 0,
        isFullRange: Bool, matrix: MatrixCoefficients = .bt601, captureTime: WallTime?, timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        guard let layout = RawPictureLayout(format, dimensions: dimensions, stride: stride) else {
            throw .damaged("a raw picture of \(dimensions) in \(format) with \(stride) bytes a row")
        }
        guard bytes.count >= layout.byteCount, let base = bytes.baseAddress else {
            throw .damaged(
                "a raw picture of \(dimensions) in \(format) takes \(layout.byteCount) bytes, not \(bytes.count)")
        }
        let source = RawPicture(format: format, base: base.assumingMemoryBound(to: UInt8.self), layout: layout)
        return try convert(
            source, dimensions: layout.dimensions, isFullRange: isFullRange, matrix: format.isRGB ? .bt601 : matrix,
            captureTime: captureTime, timestamp: timestamp)
    }

    /// - Parameter dimensions: even.
    func convert(
        _ source: RawPicture, dimensions: Dimensions, isFullRange: Bool, matrix: MatrixCoefficients = .bt601,
        captureTime: WallTime?, timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let frame = pool.frame(
            dimensions: dimensions, captureTime: captureTime, timestamp: timestamp, color: VideoColor(matrix: matrix))
        let isBroughtToLimited = isFullRange && !source.format.isRGB
        let hasTwoSteps = isBroughtToLimited || source.format == .nv16 || source.format == .nv61
        let step = hasTwoSteps ? Self.stripHeight : dimensions.height
        for row in stride(from: 0, to: dimensions.height, by: step) {
            let strip = PictureStrip(of: frame, row: row, height: min(step, dimensions.height - row))
            guard convert(source, into: strip) == 0 else {
                throw .failed("converting a raw picture", reason: "libyuv refused \(source.format) of \(dimensions)")
            }
            if isBroughtToLimited { LimitedRange.compress(strip) }
        }
        return frame
    }

    /// - Returns: libyuv's answer, 0 for success.
    private func convert(_ source: RawPicture, into strip: PictureStrip) -> Int32 {
        switch source.format {
        case .nv16: halve(source, u: strip.u, v: strip.v, into: strip)
        case .nv61: halve(source, u: strip.v, v: strip.u, into: strip)
        case .yuyv, .uyvy, .yvyu, .vyuy, .nv12, .nv21, .i420, .yv12, .i422, .grey: source.convertLuma(into: strip)
        default: source.convertRGB(into: strip)
        }
    }

    /// 4:2:2 in two planes, which libyuv cannot read: each two rows of colours become one, and are taken apart.
    private func halve(
        _ source: RawPicture, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>, into strip: PictureStrip
    ) -> Int32 {
        CopyPlane(source.luma(strip.row), source.stride, strip.y, strip.strideY, strip.width, strip.height)
        let (width, rows) = (Int(strip.width), Int(strip.height) / 2)
        if scratch.count < width * rows { scratch = [UInt8](repeating: 0, count: width * rows) }
        let colours = source.second + source.chromaOffset(strip.row)
        return scratch.withUnsafeMutableBufferPointer { scratch in
            let result = InterpolatePlane(
                colours, 2 * source.chromaStride, colours + Int(source.chromaStride), 2 * source.chromaStride,
                scratch.baseAddress, Int32(width), Int32(width), Int32(rows), 128)
            SplitUVPlane(
                scratch.baseAddress, Int32(width), u, strip.strideUV, v, strip.strideUV, strip.width / 2, Int32(rows))
            return result
        }
    }
}
