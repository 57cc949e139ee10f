import Foundation
import PCastCore
import Testing

@testable import PCastCodecs

/// The colors equal those of the source on every path: the samples and the declared values agree.
@Suite("Colors", .enabled(if: Program.hasFFmpeg)) struct VideoColorTests {
    /// A green that the wrong matrix converts to 0ed205.
    private static let green = (red: 0x00, green: 0xB4, blue: 0x00)

    /// Returns the red, green and blue of a frame's center.
    private static func middle(_ frame: VideoFrame) throws -> [Int] {
        let count = FrameExport.byteCount(.rgba, dimensions: frame.dimensions)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
        defer { memory.deallocate() }
        try FrameExport.write(frame, as: .rgba, into: memory)
        let offset = (frame.dimensions.height / 2 * frame.dimensions.width + frame.dimensions.width / 2) * 4
        return (0..<3).map { Int(memory[offset + $0]) }
    }

    private static func isNear(_ color: [Int], _ wanted: [Int], _ tolerance: Int = 8) -> Bool {
        zip(color, wanted).allSatisfy { abs($0 - $1) <= tolerance }
    }

    private static func parse(_ unit: [UInt8]) -> H264SequenceParameterSet? { H264SequenceParameterSet(unit.span) }

    private static func describe(_ set: H264SequenceParameterSet, _ color: VideoColor, _ unit: [UInt8]) -> [UInt8]? {
        set.describing(color, in: unit.span)
    }

    private static var wanted: [Int] { [green.red, green.green, green.blue] }

    /// Creates a video of one color with a matrix and a range, and the options that declare them.
    private func film(
        _ size: String, matrix: String, range: String = "tv", codec: String = "libx264 -preset ultrafast -bf 0",
        file: String = "film.mp4", _ options: String = "", _ body: (String) throws -> Void
    ) throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/\(file)"
            let filter =
                "color=c=0x00B400:s=\(size):r=10:d=0.6,format=gbrp,"
                + "scale=out_color_matrix=\(matrix):out_range=\(range),format=yuv420p"
            try Program.makeMedia(path, "-f lavfi -i \(filter) -c:v \(codec) -g 10 \(options) -threads 1")
            try body(path)
        }
    }

    private func first(_ path: String) throws -> VideoFrame {
        guard case .video(let frame)? = try MediaReader(uri: path).next() else { throw CocoaError(.fileReadUnknown) }
        return frame
    }

    private static let tagged709 = "-colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv"

    @Test(
        "a file has the colors that it declares, or those of its size if it declares none",
        arguments: [
            ("1280x720", "bt709", "tv", ""), ("1280x720", "bt709", "tv", tagged709), ("640x360", "bt601", "tv", ""),
            ("640x360", "bt709", "tv", tagged709), ("720x576", "bt601", "tv", ""), ("608x1080", "bt709", "tv", ""),
            ("1280x720", "bt601", "tv", "-colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m"),
            ("1280x720", "bt709", "pc", "-color_range pc -colorspace bt709"),
            ("640x360", "bt601", "pc", "-color_range pc"),
            ("640x360", "bt2020nc", "tv", "-colorspace bt2020nc -color_primaries bt2020 -color_trc bt709"),
        ])
    func declared(_ size: String, _ matrix: String, _ range: String, _ options: String) throws {
        try film(size, matrix: matrix, range: range, options) { path in
            let frame = try first(path)
            let middle = try Self.middle(frame)
            #expect(Self.isNear(middle, Self.wanted), "\(middle) of \(frame.color)")
            #expect(frame.color.range == .limited)
        }
    }

    @Test(
        "re-encoded video declares the matrix of its samples, and is decoded to the same colors",
        arguments: [MatrixCoefficients.bt601, .bt709], [Codec.h264, .vp8])
    func reencoded(_ matrix: MatrixCoefficients, _ codec: Codec) throws {
        let options = matrix == .bt709 ? Self.tagged709 : "-colorspace smpte170m"
        try film("1280x720", matrix: matrix == .bt709 ? "bt709" : "bt601", options) { path in
            let frame = try first(path)
            #expect(frame.matrix == matrix)
            let encoder = try VideoEncoders.open(
                .software, codec: codec, dimensions: frame.dimensions, frameRate: 10, bitrate: .kilobits(2_000),
                color: frame.color)
            let coded = try #require(try encoder.encode(frame, forceKeyFrame: true).first)
            if codec == .h264 {
                let set = try #require(H264ParameterSetCache.sequenceParameterSet(in: coded.bytes))
                #expect(set.matrixCode == matrix.code && set.isFullRange == false)
            }
            let decoder: any VideoDecoder = codec == .h264 ? try H264Decoder() : try VP8Decoder()
            let decoded = try #require(try decoder.decode(coded).first)
            #expect(decoded.matrix == (codec == .vp8 ? .bt601 : matrix))
            let middle = try Self.middle(decoded)
            #expect(Self.isNear(middle, Self.wanted, codec == .vp8 ? 12 : 8), "\(middle)")
        }
    }

    @Test("an encoder that was opened for one matrix converts frames of the other")
    func otherMatrix() throws {
        try film("320x180", matrix: "bt709", Self.tagged709) { path in
            let frame = try first(path)
            let encoder = try X264Encoder(dimensions: frame.dimensions, frameRate: 10, bitrate: .kilobits(500))
            let coded = try #require(try encoder.encode(frame, forceKeyFrame: true).first)
            let decoded = try #require(try H264Decoder().decode(coded).first)
            let middle = try Self.middle(decoded)
            #expect(decoded.matrix == .bt601 && Self.isNear(middle, Self.wanted))
        }
    }

    @Test(
        "H.264 that is passed through declares the colors of its container, or those of its size",
        arguments: [
            ("1280x720", "bt709", "", UInt8?(1)), ("640x360", "bt601", "", nil),
            ("1280x720", "bt709", tagged709, UInt8?(1)), ("640x360", "bt709", tagged709, UInt8?(1)),
        ])
    func passedOn(_ size: String, _ matrix: String, _ options: String, _ code: UInt8?) throws {
        try film(size, matrix: matrix, options) { path in
            let reader = try MediaReader(uri: path, passesThrough: true)
            guard case .coded(let frame)? = try reader.nextSample() else {
                Issue.record("there is no pass-through: \(String(describing: reader.transcodeReason))")
                return
            }
            let set = try #require(H264ParameterSetCache.sequenceParameterSet(in: frame.bytes))
            #expect(set.matrixCode == code)
            let decoded = try #require(try H264Decoder().decode(frame).first)
            #expect(Self.isNear(try Self.middle(decoded), Self.wanted))
        }
    }

    @Test("a container's colors are declared if the codec has none", arguments: ["film.mp4", "film.mkv"])
    func containerColors(_ file: String) throws {
        // Only the container has the colors: the codec's own description is removed.
        try film("640x360", matrix: "bt709", "") { path in
            let tagged = path.replacing("film.mp4", with: "tagged-" + file)
            try Program.makeMedia(tagged, "-i \(path) -c copy -movflags +write_colr \(Self.tagged709)")
            #expect(try first(tagged).matrix == .bt709)
            let reader = try MediaReader(uri: tagged, passesThrough: true)
            guard case .coded(let coded)? = try reader.nextSample() else {
                Issue.record("there is no pass-through")
                return
            }
            #expect(H264ParameterSetCache.sequenceParameterSet(in: coded.bytes)?.matrixCode == 1)
        }
    }

    @Test("an added description changes nothing else of a parameter set")
    func described() throws {
        for (size, options) in [
            ("1280x720", ""), ("1920x1088", "-profile:v main"),
            ("1278x718", "-profile:v high -x264-params overscan=show"),
            ("1280x720", "-vf setsar=1 -x264-params videoformat=pal"),
        ] {
            try film(size, matrix: "bt709", options) { path in
                let reader = try MediaReader(uri: path, passesThrough: true)
                guard case .coded(let frame)? = try reader.nextSample() else {
                    Issue.record("\(String(describing: reader.transcodeReason))")
                    return
                }
                // A trailing zero belongs to the next start code.
                var unit = try #require(AnnexB.units(frame.bytes).first { $0[0] & 31 == 7 })
                while unit.last == 0 { unit.removeLast() }
                let set = try #require(Self.parse(unit))
                let described = try #require(Self.describe(set, .bt601, unit))
                let again = try #require(Self.parse(described))
                #expect(again.dimensions == set.dimensions && again.matrixCode == 6)
                #expect(again.sampleAspectRatio == set.sampleAspectRatio && again.isProgressive)
                #expect(Self.describe(set, .bt709, unit) == unit, "a repeated description is the same unit")
                #expect(try H264Decoder().decode(frame).count == 1)
            }
        }
    }

    @Test("truncated or invalid parameter sets are unchanged")
    func brokenSets() throws {
        try film("1280x720", matrix: "bt709") { path in
            let reader = try MediaReader(uri: path, passesThrough: true)
            guard case .coded(let frame)? = try reader.nextSample() else {
                Issue.record("there is no pass-through: \(String(describing: reader.transcodeReason))")
                return
            }
            let unit = try #require(AnnexB.units(frame.bytes).first { $0[0] & 31 == 7 })
            for count in 0..<unit.count {
                let part = Array(unit.prefix(count))
                let set = Self.parse(part)
                let described = set?.describing(.bt709, in: part.span)
                #expect(
                    described.flatMap { Self.parse($0) }?.dimensions
                        == described.flatMap { _ in set?.dimensions })
            }
            for index in unit.indices {
                for bit in 0..<8 {
                    var other = unit
                    other[index] ^= 1 << UInt8(bit)
                    _ = Self.parse(other)?.describing(.bt709, in: other.span)
                }
            }
        }
    }

    @Test("a frame that is scaled, rotated or reduced keeps its colors")
    func scaled() throws {
        try film("1280x720", matrix: "bt709") { path in
            let frame = try first(path)
            for other in [
                FrameScaler().scale(frame, to: Dimensions(width: 320, height: 180)),
                FrameRotator().turn(frame, by: .clockwise90), FrameScaler().reduce(frame, by: 2),
            ] {
                let middle = try Self.middle(other)
                #expect(other.color == frame.color && Self.isNear(middle, Self.wanted))
            }
        }
    }

    @Test("a screenshot has the colors of the frame", arguments: ["png", "jpg"])
    func screenshot(_ ending: String) throws {
        try film("1280x720", matrix: "bt709") { path in
            let shot = path.replacing("film.mp4", with: "shot.\(ending)")
            try StillImage.write(try first(path), to: shot)
            #expect(Self.isNear(try Self.middle(try first(shot)), Self.wanted, 12))
        }
    }
}
