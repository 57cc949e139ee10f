import Glibc
import PCastCodecs
import PCastCore
import PCastTestSupport
import Testing

@Suite struct RawFrameTests {
    private static let time = MediaTime(ticks: 4_711, rate: .video)
    private static let wallTime = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    private func convert(_ reference: RawFrameReference, isFullRange: Bool) throws -> VideoFrame {
        let memory = GuardPages(reference.bytes)
        return try RawFrameConverter().convert(
            memory.bytes, format: reference.format, dimensions: reference.dimensions, stride: reference.stride,
            isFullRange: isFullRange, captureTime: Self.wallTime, timestamp: Self.time)
    }

    @Test(
        "every pixel format is converted exactly in both ranges, with padded rows and odd sizes",
        arguments: RawPixelFormat.allCases)
    func pixels(_ format: RawPixelFormat) throws {
        let sizes = [(64, 48), (640, 360), (66, 50), (65, 37), (2, 2), (35, 2), (1_280, 18)]
        for (number, size) in sizes.enumerated() {
            for padding in [0, 6, 64] {
                let reference = RawFrameReference(
                    format, Dimensions(width: size.0, height: size.1), padding: padding, seed: UInt64(number))
                for isFullRange in [false, true] {
                    let frame = try convert(reference, isFullRange: isFullRange)
                    #expect(frame.dimensions == Dimensions(width: size.0 & ~1, height: size.1 & ~1))
                    #expect(frame.timestamp == Self.time)
                    #expect(frame.captureTime == Self.wallTime)
                    let (luma, chroma) = reference.differences(from: frame, isFullRange: isFullRange)
                    // libyuv's RGB has 7 to 8 bits. Everything else is exact except for rounding, by two steps at most.
                    let tolerance = format.isRGB ? 2.0 : isFullRange ? 1.0 : 0.5
                    #expect(luma <= (format.isRGB ? 2 : isFullRange ? 0.5 : 0), "\(size) +\(padding)")
                    #expect(chroma <= tolerance, "\(size) +\(padding)")
                }
            }
        }
    }

    @Test("too few bytes of a driver are an error, and exactly enough are not", arguments: RawPixelFormat.allCases)
    func shortFrames(_ format: RawPixelFormat) throws {
        let dimensions = Dimensions(width: 64, height: 48)
        let reference = RawFrameReference(format, dimensions, padding: 8, seed: 1)
        let needed = reference.bytes.count
        _ = try reference.bytes.withUnsafeBytes {
            try RawFrameConverter().convert(
                $0, format: format, dimensions: dimensions, stride: reference.stride, isFullRange: false,
                captureTime: nil, timestamp: Self.time)
        }
        for count in [0, 1, needed / 2, needed - 1] {
            let memory = GuardPages(Array(reference.bytes.prefix(count)))
            #expect(throws: CodecError.self) {
                try RawFrameConverter().convert(
                    memory.bytes, format: format, dimensions: dimensions, stride: reference.stride, isFullRange: false,
                    captureTime: nil, timestamp: Self.time)
            }
        }
    }

    @Test("impossible sizes and strides are rejected", arguments: RawPixelFormat.allCases)
    func senseless(_ format: RawPixelFormat) {
        let bytes = [UInt8](repeating: 0, count: 1 << 20)
        let cases = [
            (0, 0, 0), (1, 1, 0), (-4, 8, 0), (64, 48, 63 * format.minimumStride(width: 1)), (64, 48, -256),
            (64, 48, .max), (.max, 2, 0), (2, .max, 0), (.min, .min, .min), (64, 48, 1 << 21),
        ]
        for (width, height, stride) in cases {
            let dimensions = Dimensions(width: width, height: height)
            #expect(throws: CodecError.self, "\(dimensions) \(stride)") {
                try bytes.withUnsafeBytes { bytes in
                    try RawFrameConverter().convert(
                        bytes, format: format, dimensions: dimensions, stride: stride, isFullRange: true,
                        captureTime: nil, timestamp: Self.time)
                }
            }
        }
    }

    @Test("one converter serves changing sizes, formats and ranges") func changes() throws {
        let converter = RawFrameConverter()
        var generator = SeededGenerator(seed: 3)
        for seed in 0..<60 {
            let format = try #require(RawPixelFormat.allCases.randomElement(using: &generator))
            let size = Dimensions(
                width: .random(in: 2...200, using: &generator), height: .random(in: 2...100, using: &generator))
            let reference = RawFrameReference(format, size, padding: seed % 3 * 4, seed: UInt64(seed))
            let isFullRange = seed % 2 == 0
            let memory = GuardPages(reference.bytes)
            let frame = try converter.convert(
                memory.bytes, format: format, dimensions: size, stride: reference.stride, isFullRange: isFullRange,
                captureTime: nil, timestamp: Self.time)
            let (luma, chroma) = reference.differences(from: frame, isFullRange: isFullRange)
            #expect(max(luma, chroma) <= 2, "\(format) \(size)")
        }
    }
}

/// Bytes that end where readable memory ends. Reading one byte too far ends the test.
final class GuardPages {
    let bytes: UnsafeRawBufferPointer
    private let mapping: UnsafeMutableRawPointer
    private let length: Int

    init(_ content: [UInt8]) {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let room = (content.count + page - 1) / page * page
        length = room + page
        mapping = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        precondition(mapping != MAP_FAILED)
        let start = mapping + (room - content.count)
        content.withUnsafeBytes { start.copyMemory(from: $0.baseAddress!, byteCount: content.count) }
        precondition(mprotect(mapping + room, page, PROT_NONE) == 0)
        bytes = UnsafeRawBufferPointer(start: start, count: content.count)
    }

    deinit { munmap(mapping, length) }
}

/// A raw image with random pixels, and the I420 frame for it. It is slow, and follows only the formulas of BT.601 and
/// the formats' definitions.
struct RawFrameReference {
    let format: RawPixelFormat
    /// The dimensions of a device, which may be odd.
    let dimensions: Dimensions
    let stride: Int
    private(set) var bytes: [UInt8] = []
    /// The luma or red, green and blue of each pixel, and the chroma of each pixel's site.
    private var pixels: [[(Double, Double, Double)]] = []

    init(_ format: RawPixelFormat, _ dimensions: Dimensions, padding: Int, seed: UInt64) {
        let stride = format.minimumStride(width: dimensions.width) + padding
        var generator = SeededGenerator(seed: seed)
        let bytes = (0..<stride * dimensions.height * 4).map { _ in UInt8.random(in: 0...255, using: &generator) }
        self.init(format, dimensions, stride: stride, bytes: bytes)
    }

    /// Creates a reference from at least the bytes of one frame; further bytes are ignored.
    init(_ format: RawPixelFormat, _ dimensions: Dimensions, stride: Int, bytes: [UInt8]) {
        self.format = format
        self.dimensions = dimensions
        self.stride = stride
        let (width, height) = (dimensions.width, dimensions.height)
        var end = 0
        func read(_ index: Int) -> Double {
            end = max(end, index + 1)
            return Double(bytes[index])
        }
        let second = stride * height
        let half = (stride + 1) / 2
        for row in 0..<height & ~1 {
            pixels.append(
                (0..<width & ~1).map { column in
                    let pair = row * stride + column / 2 * 4
                    let y = row * stride + column
                    switch format {
                    case .yuyv: return (read(pair + column % 2 * 2), read(pair + 1), read(pair + 3))
                    case .yvyu: return (read(pair + column % 2 * 2), read(pair + 3), read(pair + 1))
                    case .uyvy: return (read(pair + column % 2 * 2 + 1), read(pair), read(pair + 2))
                    case .vyuy: return (read(pair + column % 2 * 2 + 1), read(pair + 2), read(pair))
                    case .grey: return (read(y), 128, 128)
                    case .nv12, .nv21, .nv16, .nv61:
                        let colourRow = format == .nv12 || format == .nv21 ? row / 2 : row
                        let site = second + colourRow * stride + column / 2 * 2
                        let isReversed = format == .nv21 || format == .nv61
                        return (read(y), read(site + (isReversed ? 1 : 0)), read(site + (isReversed ? 0 : 1)))
                    case .i420, .yv12:
                        let first = second + row / 2 * half + column / 2
                        let other = first + half * ((height + 1) / 2)
                        return (read(y), read(format == .i420 ? first : other), read(format == .i420 ? other : first))
                    case .i422:
                        let u = second + row * half + column / 2
                        return (read(y), read(u), read(u + half * height))
                    case .bgra, .bgrx:
                        let at = row * stride + column * 4
                        _ = read(at + 3)
                        return (read(at + 2), read(at + 1), read(at))
                    case .rgba, .rgbx:
                        let at = row * stride + column * 4
                        _ = read(at + 3)
                        return (read(at), read(at + 1), read(at + 2))
                    case .argb, .xrgb:
                        let at = row * stride + column * 4
                        return (read(at + 1), read(at + 2), read(at + 3))
                    case .rgb24:
                        let at = row * stride + column * 3
                        return (read(at), read(at + 1), read(at + 2))
                    case .bgr24:
                        let at = row * stride + column * 3
                        return (read(at + 2), read(at + 1), read(at))
                    case .rgb565, .xrgb1555:
                        let at = row * stride + column * 2
                        let word = Int(read(at)) | Int(read(at + 1)) << 8
                        let greenBits = format == .rgb565 ? 6 : 5
                        func expand(_ shift: Int, _ bits: Int) -> Double {
                            let value = word >> shift & (1 << bits - 1)
                            return Double(value << (8 - bits) | value >> (2 * bits - 8))
                        }
                        return (expand(5 + greenBits, 5), expand(5, greenBits), expand(0, 5))
                    }
                })
        }
        self.bytes = Array(bytes[..<end])
    }

    /// Returns luma and chroma of a pixel in limited range, not rounded.
    private func colour(_ row: Int, _ column: Int, isFullRange: Bool) -> (Double, Double, Double) {
        let (first, second, third) = pixels[row][column]
        if format.isRGB {
            let (r, g, b) = (first / 255, second / 255, third / 255)
            let y = 0.299 * r + 0.587 * g + 0.114 * b
            return (16 + 219 * y, 128 + 224 * (b - y) / 1.772, 128 + 224 * (r - y) / 1.402)
        }
        guard isFullRange else { return (first, second, third) }
        return (16 + first * 219 / 255, 128 + (second - 128) * 224 / 255, 128 + (third - 128) * 224 / 255)
    }

    /// Returns the largest difference of luma and of chroma. A site's chroma is the mean of its pixels'.
    func differences(from frame: VideoFrame, isFullRange: Bool) -> (luma: Double, chroma: Double) {
        var (luma, chroma) = (0.0, 0.0)
        let (width, height) = (dimensions.width & ~1, dimensions.height & ~1)
        for row in evenNumbers(below: height) {
            for column in evenNumbers(below: width) {
                var (u, v) = (0.0, 0.0)
                for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let expected = colour(row + dy, column + dx, isFullRange: isFullRange)
                    let y = Double(frame.planeY[(row + dy) * frame.strideY + column + dx])
                    luma = max(luma, abs(y - expected.0))
                    u += expected.1 / 4
                    v += expected.2 / 4
                }
                let at = row / 2 * frame.strideUV + column / 2
                chroma = max(chroma, abs(Double(frame.planeU[at]) - u), abs(Double(frame.planeV[at]) - v))
            }
        }
        return (luma, chroma)
    }

    private func evenNumbers(below end: Int) -> StrideTo<Int> { Swift.stride(from: 0, to: end, by: 2) }
}
