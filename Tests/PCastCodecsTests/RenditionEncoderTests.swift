import PCastCore
import Testing

@testable import PCastCodecs

@Suite("Renditions of a stream")
struct RenditionEncoderTests {
    private static let size = Dimensions(width: 1280, height: 720)

    private static func source(_ codec: Codec, count: Int, rate: Int = 30) throws -> [EncodedFrame] {
        let encoder = try VideoEncoders.open(
            .software, codec: codec, dimensions: size, frameRate: Double(rate), bitrate: .kilobits(2_500))
        return try (0..<count).flatMap {
            try encoder.encode(SampleFrame.moving($0, size: size, rate: rate), forceKeyFrame: $0 == 0)
        }
    }

    private static func decoder(_ codec: Codec) throws -> any VideoDecoder {
        if codec == .h264 { return try H264Decoder() }
        return try VP8Decoder()
    }

    @Test(
        "each rendition has its size, begins with a key frame, and has the times of its source",
        arguments: [Codec.h264, .vp8])
    func renditions(codec: Codec) throws {
        let encoder = try RenditionEncoder(codec: codec, encoder: .software)
        encoder.setTargets([
            .init(number: 1, height: 0, bitrate: .kilobits(0)), .init(number: 4, height: 360, bitrate: .kilobits(520)),
        ])
        let frames = try Self.source(codec, count: 8)
        var outputs: [RenditionEncoder.Output] = []
        for frame in frames { outputs += try encoder.process(frame, encodes: true) }
        for (number, height) in [(1, 720), (4, 360)] {
            let made = outputs.filter { $0.number == number }.map(\.frame)
            #expect(made.map(\.timestamp) == frames.map(\.timestamp))
            #expect(made.map(\.captureTime) == frames.map(\.captureTime))
            #expect(made.map(\.isKeyFrame) == [true] + Array(repeating: false, count: 7))
            let decoder = try Self.decoder(codec)
            let pictures = try made.flatMap { try decoder.decode($0) }
            let size = Dimensions(width: height * 16 / 9, height: height)
            #expect(pictures.map(\.dimensions) == Array(repeating: size, count: 8))
        }
    }

    @Test("renditions of VP9, AV1 and H.265 are in H.264", arguments: VideoDecodersTests.examples)
    func otherCodecs(example: VideoDecodersTests.Example) throws {
        let encoder = try RenditionEncoder(codec: example.codec, encoder: .software)
        encoder.setTargets([.init(number: 1, height: 0, bitrate: .kilobits(0))])
        let source = example.encodedFrames
        var made: [EncodedFrame] = []
        for frame in source { made += try encoder.process(frame, encodes: true).map(\.frame) }
        #expect(made.map(\.codec) == source.map { _ in Codec.h264 })
        #expect(made.map(\.timestamp) == source.map(\.timestamp))
        let decoder = try H264Decoder()
        let pictures = try made.flatMap { try decoder.decode($0) }
        #expect(pictures.map(\.dimensions) == source.map { _ in Dimensions(width: 208, height: 120) })
    }

    @Test("renditions of another codec than the source can be requested", arguments: [Codec.h264, .vp8])
    func output(codec: Codec) throws {
        let source: Codec = codec == .h264 ? .vp8 : .h264
        let encoder = try RenditionEncoder(codec: source, output: codec, encoder: .software)
        encoder.setTargets([.init(number: 1, height: 0, bitrate: .kilobits(0))])
        let frames = try Self.source(source, count: 4)
        var made: [EncodedFrame] = []
        for frame in frames { made += try encoder.process(frame, encodes: true).map(\.frame) }
        #expect(made.map(\.codec) == frames.map { _ in codec })
        let decoder = try Self.decoder(codec)
        let pictures = try made.flatMap { try decoder.decode($0) }
        #expect(pictures.map(\.dimensions) == frames.map { _ in Self.size })
    }

    @Test("a key frame is made on request, of that rendition only")
    func keyFrames() throws {
        let encoder = try RenditionEncoder(codec: .h264, encoder: .software)
        encoder.setTargets([
            .init(number: 2, height: 360, bitrate: .kilobits(520)),
            .init(number: 3, height: 240, bitrate: .kilobits(350)),
        ])
        var keyFrames: [Int: [Int]] = [:]
        for (index, frame) in try Self.source(.h264, count: 6).enumerated() {
            if index == 3 { encoder.requestKeyFrame(of: 3) }
            if index == 4 { encoder.requestKeyFrame(of: 9) }
            for output in try encoder.process(frame, encodes: true) where output.frame.isKeyFrame {
                keyFrames[output.number, default: []].append(index)
            }
        }
        #expect(keyFrames == [2: [0], 3: [0, 3]])
    }

    @Test("frames that are only decoded are references of later ones, and a target that continues has no key frame")
    func decodesOnly() throws {
        let encoder = try RenditionEncoder(codec: .h264, encoder: .software)
        let (low, lower) = (
            RenditionEncoder.Target(number: 4, height: 360, bitrate: .kilobits(520)),
            RenditionEncoder.Target(number: 5, height: 240, bitrate: .kilobits(350))
        )
        encoder.setTargets([low])
        var outputs: [RenditionEncoder.Output] = []
        for (index, frame) in try Self.source(.h264, count: 12).enumerated() {
            if index == 8 { encoder.setTargets([low, lower]) }
            if index == 10 { encoder.setTargets([]) }
            let made = try encoder.process(frame, encodes: index >= 6)
            #expect(made.count == (index < 6 || index >= 10 ? 0 : index < 8 ? 1 : 2))
            outputs += made
        }
        #expect(outputs.filter { $0.number == 4 }.map(\.frame.isKeyFrame) == [true, false, false, false])
        #expect(outputs.filter { $0.number == 5 }.map(\.frame.isKeyFrame) == [true, false])
    }

    @Test("a damaged source is reported, and continues at its next key frame")
    func damaged() throws {
        let encoder = try RenditionEncoder(codec: .h264, encoder: .software)
        encoder.setTargets([.init(number: 4, height: 360, bitrate: .kilobits(520))])
        let frames = try Self.source(.h264, count: 3)
        #expect(throws: CodecError.self) { _ = try encoder.process(frames[1], encodes: true) }
        #expect(try encoder.process(frames[0], encodes: true).count == 1)
        var cut = frames[1]
        cut.bytes.removeLast(cut.bytes.count / 2)
        #expect(throws: CodecError.self) { _ = try encoder.process(cut, encodes: true) }
        #expect(throws: CodecError.self) { _ = try encoder.process(frames[2], encodes: true) }
        #expect(try encoder.process(frames[0], encodes: true).count == 1)
    }

    @Test("the frame rate of the source is that of the encoder")
    func frameRate() {
        var estimate = FrameRateEstimate()
        #expect(estimate.value == FrameRateEstimate.assumed)
        for number in 0..<40 { estimate.observe(MediaTime(ticks: Int64(number) * 1_500, rate: .video)) }
        #expect(estimate.value.rounded() == 60)
        for number in 0..<40 { estimate.observe(MediaTime(ticks: 1_000_000 - Int64(number) * 100, rate: .video)) }
        #expect(estimate.value.rounded() == 60, "times that go back do not count")
        #expect(FrameRateEstimate.differ(30, 29.97) == false)
        #expect(FrameRateEstimate.differ(60, 30))
    }
}
