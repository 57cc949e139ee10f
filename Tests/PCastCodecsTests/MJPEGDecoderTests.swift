import Foundation
import PCastCodecs
import PCastCore
import PCastTestSupport
import Testing

@Suite(.enabled(if: Program.hasFFmpeg)) struct MJPEGDecoderTests {
    private static let time = MediaTime(ticks: 4_711, rate: .video)

    private func decode(_ decoder: MJPEGDecoder, _ bytes: [UInt8]) throws -> VideoFrame {
        let memory = GuardPages(bytes)
        return try decoder.decode(
            memory.bytes, captureTime: WallTime(millisecondsSinceEpoch: 1_700_000_000_000), timestamp: Self.time)
    }

    /// Returns a JPEG image of FFmpeg's, and its pixels as FFmpeg decodes them, in full range.
    private func make(
        _ pixels: String, _ size: Dimensions, source: String = "testsrc2=", quality: Int = 3
    ) throws -> (jpeg: [UInt8], pixels: [UInt8]) {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/picture.jpg"
            let input = "-f lavfi -i \(source)s=\(size):r=1:d=1 -frames:v 1"
            try Program.makeMedia(path, "\(input) -pix_fmt \(pixels) -c:v mjpeg -q:v \(quality) -huffman default")
            try Program.makeMedia("\(folder)/picture.raw", "-i \(path) -pix_fmt \(pixels) -f rawvideo")
            return (
                Array(try Data(contentsOf: URL(fileURLWithPath: path))),
                Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/picture.raw")))
            )
        }
    }

    /// Returns the image without the segments of a marker.
    private func without(_ marker: UInt8, _ jpeg: [UInt8]) throws -> [UInt8] {
        var result: [UInt8] = [0xFF, 0xD8]
        var index = 2
        var count = 0
        while jpeg[index + 1] != 0xDA {
            try #require(jpeg[index] == 0xFF)
            let end = index + 2 + Int(jpeg[index + 2]) << 8 + Int(jpeg[index + 3])
            if jpeg[index + 1] == marker { count += 1 } else { result += jpeg[index..<end] }
            index = end
        }
        #expect(count > 0)
        return result + jpeg[index...]
    }

    @Test(
        "MJPEG frames are decoded exactly, and full range becomes limited range",
        arguments: [("yuvj422p", RawPixelFormat.i422), ("yuvj420p", .i420)])
    func pixels(_ pixels: String, _ format: RawPixelFormat) throws {
        let decoder = try MJPEGDecoder()
        for size in [Dimensions(width: 640, height: 360), Dimensions(width: 176, height: 144)] {
            let (jpeg, raw) = try make(pixels, size)
            let frame = try decode(decoder, jpeg)
            #expect(frame.dimensions == size)
            #expect(frame.timestamp == Self.time)
            #expect(frame.captureTime == WallTime(millisecondsSinceEpoch: 1_700_000_000_000))
            let reference = RawFrameReference(format, size, stride: size.width, bytes: raw)
            let (luma, chroma) = reference.differences(from: frame, isFullRange: true)
            #expect(luma <= 0.5)
            #expect(chroma <= 1)
        }
    }

    @Test("white remains white and red remains red", arguments: ["yuvj422p", "yuvj420p", "yuvj444p"])
    func colours(_ pixels: String) throws {
        let decoder = try MJPEGDecoder()
        for (name, y, u, v) in [("white", 235, 128, 128), ("black", 16, 128, 128), ("red", 81, 90, 240)] {
            let source = "color=c=\(name):"
            let frame = try decode(
                decoder, try make(pixels, Dimensions(width: 65, height: 49), source: source, quality: 2).jpeg)
            #expect(frame.dimensions == Dimensions(width: 64, height: 48))
            #expect(abs(Int(frame.planeY[700]) - y) <= 2)
            #expect(abs(Int(frame.planeU[300]) - u) <= 2)
            #expect(abs(Int(frame.planeV[300]) - v) <= 2)
        }
    }

    @Test("images without Huffman tables, as cameras send them, use those of the standard")
    func withoutTables() throws {
        let (jpeg, _) = try make("yuvj422p", Dimensions(width: 320, height: 180))
        let bare = try without(0xC4, jpeg)
        let mark: [UInt8] = [0xFF, 0xE0, 0, 16] + Array("AVI1".utf8) + [UInt8](repeating: 0, count: 10)
        let camera = Array(bare[..<2]) + mark + bare[2...]
        let whole = try decode(try MJPEGDecoder(), jpeg)
        for bytes in [bare, camera, camera + [UInt8](repeating: 0, count: 700)] {
            let frame = try decode(try MJPEGDecoder(), bytes)
            #expect(SampleFrame.peakSignalToNoiseRatio(frame, whole) == .infinity)
        }
    }

    @Test("a truncated image is damaged, and the next is complete") func cut() throws {
        let (jpeg, _) = try make("yuvj422p", Dimensions(width: 320, height: 180))
        let decoder = try MJPEGDecoder()
        let whole = try decode(decoder, jpeg)
        for count in Array(stride(from: 0, to: jpeg.count, by: 97)) + Array(jpeg.count - 40..<jpeg.count) {
            #expect(throws: CodecError.self, "\(count)") { try decode(decoder, Array(jpeg[..<count])) }
            // This includes images whose truncation only the coded pixels show.
            if count > 700, count < jpeg.count - 40 {
                #expect(throws: CodecError.self, "\(count)") {
                    try decode(decoder, Array(jpeg[..<count]) + [0xFF, 0xD9])
                }
            }
            let frame = try decode(decoder, jpeg)
            #expect(SampleFrame.peakSignalToNoiseRatio(frame, whole) == .infinity)
        }
    }

    @Test("thousands of mutated images throw or are images, without a crash") func mutations() throws {
        let kinds = ["yuvj422p", "yuvj420p", "yuvj444p"]
        let frames = try kinds.map { try make($0, Dimensions(width: 96, height: 64)).jpeg }
        let decoder = try MJPEGDecoder()
        let whole = try frames.map { try decode(decoder, $0) }
        var generator = SeededGenerator(seed: 17)
        var (shown, refused) = (0, 0)
        for round in 0..<6_000 {
            var bytes = frames[round % 3]
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                // Half of the mutations are in the headers, which are short.
                let limit = round % 2 == 0 ? bytes.count : 640
                let index = Int.random(in: 0..<limit, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] = .random(in: 0...255, using: &generator)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: bytes.remove(at: index)
                default: bytes.insert(.random(in: 0...255, using: &generator), at: index)
                }
            }
            do {
                let frame = try decode(decoder, bytes)
                #expect(frame.dimensions.width % 2 == 0 && frame.dimensions.height % 2 == 0)
                shown += 1
            } catch {
                #expect(error is CodecError)
                refused += 1
            }
            guard round % 100 < 3 else { continue }
            let frame = try decode(decoder, frames[round % 3])
            #expect(SampleFrame.peakSignalToNoiseRatio(frame, whole[round % 3]) == .infinity)
        }
        #expect(shown > 100)
        #expect(refused > 1_000)
    }
}
