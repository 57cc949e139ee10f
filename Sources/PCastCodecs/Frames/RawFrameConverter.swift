import CYUV
public import PCastCore

/// Converts raw frames of cameras and screens to frames in one pass (libyuv). Only one thread may use it at a time.
///
/// The result is I420 in limited range, with the BT.601 matrix unless the device declares another one. RGB input is
/// always full range.
public final class RawFrameConverter {
    /// The number of rows per step if there are two steps. The rows stay in the CPU cache between the steps.
    private static let stripHeight = 16

    private let pool: VideoFramePool
    /// The chroma samples of a strip after vertical averaging.
    private var scratch: [UInt8] = []

    /// Creates a converter that takes its memory from a pool; nil for a pool of its own.
    public init(pool: VideoFramePool? = nil) { self.pool = pool ?? VideoFramePool() }

    /// Converts a raw frame. The bytes are not used after it returns.
    ///
    /// - Parameters:
    ///   - bytes: The whole frame from its first row on.
    ///   - format: The pixel format.
    ///   - dimensions: The size that the device reports. An odd last column or row is cropped.
    ///   - stride: The number of bytes per row of the first plane (V4L2's `bytesperline`); 0 for rows without padding.
    ///   - isFullRange: Whether luma ranges from 0 to 255 and not from 16 to 235.
    ///   - matrix: The matrix of YUV input. RGB input becomes BT.601.
    ///   - captureTime: The capture time; nil if it is unknown.
    ///   - timestamp: The timestamp of the frame.
    /// - Returns: The frame.
    /// - Throws: `CodecError.damaged` if the bytes are too few or the size is invalid.
    public func convert(
        _ bytes: UnsafeRawBufferPointer, format: RawPixelFormat, dimensions: Dimensions, stride: Int = 0,
        isFullRange: Bool, matrix: MatrixCoefficients = .bt601, captureTime: WallTime?, timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        guard let layout = RawFrameLayout(format, dimensions: dimensions, stride: stride) else {
            throw .damaged("a raw frame of \(dimensions) in \(format) with \(stride) bytes per row")
        }
        guard bytes.count >= layout.byteCount, let base = bytes.baseAddress else {
            throw .damaged(
                "a raw frame of \(dimensions) in \(format) has \(layout.byteCount) bytes, not \(bytes.count)")
        }
        let source = RawFrame(format: format, base: base.assumingMemoryBound(to: UInt8.self), layout: layout)
        return try convert(
            source, dimensions: layout.dimensions, isFullRange: isFullRange, matrix: format.isRGB ? .bt601 : matrix,
            captureTime: captureTime, timestamp: timestamp)
    }

    /// Converts a raw frame of an even size. Throws `CodecError.failed` if libyuv rejects it.
    func convert(
        _ source: RawFrame, dimensions: Dimensions, isFullRange: Bool, matrix: MatrixCoefficients = .bt601,
        captureTime: WallTime?, timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let frame = pool.frame(
            dimensions: dimensions, captureTime: captureTime, timestamp: timestamp, color: VideoColor(matrix: matrix))
        let compressesRange = isFullRange && !source.format.isRGB
        let hasTwoSteps = compressesRange || source.format == .nv16 || source.format == .nv61
        let step = hasTwoSteps ? Self.stripHeight : dimensions.height
        for row in stride(from: 0, to: dimensions.height, by: step) {
            let strip = FrameRows(of: frame, row: row, height: min(step, dimensions.height - row))
            guard convert(source, into: strip) == 0 else {
                throw .failed("converting a raw frame", reason: "libyuv rejected \(source.format) of \(dimensions)")
            }
            if compressesRange { LimitedRange.compress(strip) }
        }
        return frame
    }

    /// Converts a strip and returns libyuv's result, 0 for success.
    private func convert(_ source: RawFrame, into strip: FrameRows) -> Int32 {
        switch source.format {
        case .nv16: halve(source, u: strip.u, v: strip.v, into: strip)
        case .nv61: halve(source, u: strip.v, v: strip.u, into: strip)
        case .yuyv, .uyvy, .yvyu, .vyuy, .nv12, .nv21, .i420, .yv12, .i422, .grey: source.convertLuma(into: strip)
        default: source.convertRGB(into: strip)
        }
    }

    /// Converts 4:2:2 with interleaved chroma, which libyuv cannot read. It averages two chroma rows to one and
    /// separates U and V.
    private func halve(
        _ source: RawFrame, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>, into strip: FrameRows
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

/// Rows of a frame that is being written. The first row has an even number.
struct FrameRows {
    let row: Int
    let y: UnsafeMutablePointer<UInt8>
    let u: UnsafeMutablePointer<UInt8>
    let v: UnsafeMutablePointer<UInt8>
    let strideY: Int32
    let strideUV: Int32
    let width: Int32
    let height: Int32

    init(of frame: VideoFrame, row: Int, height: Int) {
        self.row = row
        y = frame.planeY + row * frame.strideY
        u = frame.planeU + row / 2 * frame.strideUV
        v = frame.planeV + row / 2 * frame.strideUV
        strideY = Int32(frame.strideY)
        strideUV = Int32(frame.strideUV)
        width = Int32(frame.dimensions.width)
        self.height = Int32(height)
    }
}

/// Converts full range to limited range: luma 0…255 to 16…235, chroma 0…255 to 16…240 (ITU-R BT.601-7, section 2.5.3).
/// Decoders of WebRTC assume limited range.
enum LimitedRange {
    /// Converts a strip in place.
    static func compress(_ strip: FrameRows) {
        let (width, height) = (Int(strip.width), Int(strip.height))
        for row in 0..<height { compressLuma(strip.y + row * Int(strip.strideY), count: width) }
        for row in 0..<height / 2 {
            compressChroma(strip.u + row * Int(strip.strideUV), count: width / 2)
            compressChroma(strip.v + row * Int(strip.strideUV), count: width / 2)
        }
    }

    /// Replaces each sample with 16 + y · 219 / 255, rounded. It uses 16-bit arithmetic without traps, so that the
    /// compiler vectorizes it.
    private static func compressLuma(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            row[index] = UInt8(truncatingIfNeeded: divideBy255(UInt16(row[index]) &* 219) &+ 16)
        }
    }

    /// Replaces each sample with 128 + (c − 128) · 224 / 255, rounded, without negative intermediate values.
    private static func compressChroma(_ row: UnsafeMutablePointer<UInt8>, count: Int) {
        for index in 0..<count {
            row[index] = UInt8(truncatingIfNeeded: divideBy255(UInt16(row[index]) &* 224 &+ 31 * 128))
        }
    }

    /// Divides by 255 with rounding; exact for all products of two bytes.
    @inline(__always)
    private static func divideBy255(_ value: UInt16) -> UInt16 {
        let sum = value &+ 128
        return (sum &+ (sum &>> 8)) &>> 8
    }
}
