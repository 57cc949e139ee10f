import PCastCodecs
import PCastCore
import PCastTestSupport
import Testing

@Suite struct VideoDecoderTests {
    private func stream(_ codec: Codec, count: Int = 12) throws -> [EncodedFrame] {
        let encoder = try VideoCodecTests.encoder(codec)
        return try (0..<count).flatMap {
            try encoder.encode(SampleFrame.moving($0, noise: 20), forceKeyFrame: $0 == 8)
        }
    }

    @Test(
        "a truncated frame is rejected or shown completely, and the next key frame repairs all",
        arguments: [
            Codec.h264, .vp8,
        ])
    func truncatedFrames(_ codec: Codec) throws {
        let frames = try stream(codec)
        for cut in stride(from: 1, to: 40, by: 3) {
            let decoder = try VideoCodecTests.decoder(codec)
            for frame in frames[..<4] { _ = try decoder.decode(frame) }
            var damaged = frames[4]
            damaged.bytes.removeLast(damaged.bytes.count * cut / 40)
            if codec == .h264 {
                #expect(throws: CodecError.self) { try decoder.decode(damaged) }
            } else {
                _ = try? decoder.decode(damaged)  // VP8 reads zeros beyond the end, by its specification
            }
            if codec == .h264 { #expect(throws: CodecError.self) { try decoder.decode(frames[5]) } }
            let mended = try #require(try decoder.decode(frames[8]).first)
            let alone = try #require(try VideoCodecTests.decoder(codec).decode(frames[8]).first)
            #expect(SampleFrame.peakSignalToNoiseRatio(mended, alone) == .infinity)
            #expect(try decoder.decode(frames[9]).count == 1)
        }
    }

    @Test("no frame is shown before the first key frame", arguments: [Codec.h264, .vp8])
    func beginning(_ codec: Codec) throws {
        let frames = try stream(codec)
        let decoder = try VideoCodecTests.decoder(codec)
        for frame in frames[3..<8] { #expect(throws: CodecError.self) { try decoder.decode(frame) } }
        #expect(try decoder.decode(frames[8]).first?.timestamp == frames[8].timestamp)
    }

    @Test("invalid data throws", arguments: [Codec.h264, .vp8])
    func garbage(_ codec: Codec) throws {
        let frames = try stream(codec)
        var generator = SeededGenerator(seed: 7)
        for round in 0..<60 {
            let decoder = try VideoCodecTests.decoder(codec)
            for var frame in frames {
                for _ in 0..<1 + round % 5 {
                    frame.bytes[Int.random(in: 0..<frame.bytes.count, using: &generator)] = .random(
                        in: 0...255, using: &generator)
                }
                _ = try? decoder.decode(frame)
            }
        }
        let empty = EncodedFrame(
            codec: codec, bytes: [], isKeyFrame: true, timestamp: frames[0].timestamp, captureTime: nil)
        #expect(throws: CodecError.self) { try VideoCodecTests.decoder(codec).decode(empty) }
    }

    @Test("frames of another size within a stream are decoded as they are", arguments: [Codec.h264, .vp8])
    func otherSize(_ codec: Codec) throws {
        let decoder = try VideoCodecTests.decoder(codec)
        for size in [SampleFrame.size, Dimensions(width: 320, height: 180), Dimensions(width: 1_280, height: 720)] {
            let encoder = try VideoCodecTests.encoder(codec, size: size)
            let videoFrame = SampleFrame.moving(0, size: size)
            let frame = try #require(try encoder.encode(videoFrame, forceKeyFrame: true).first)
            let shown = try #require(try decoder.decode(frame).first)
            #expect(shown.dimensions == size)
            #expect(SampleFrame.peakSignalToNoiseRatio(videoFrame, shown) > 26)
        }
    }
}
