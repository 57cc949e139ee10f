import Glibc
import PCastCodecs
import PCastCore
import PCastNetworkEmulation
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
