import PCastCodecs
import PCastCore
import Testing

@Suite struct VideoCodecTests {
    static func encoder(
        _ codec: Codec, size: Dimensions = SampleFrame.size, kilobits: Int64 = 1_500, frameRate: Double = 30
    ) throws -> any VideoEncoder {
        let bitrate = Bitrate.kilobits(kilobits)
        return try VideoEncoders.open(
            .software, codec: codec, dimensions: size, frameRate: frameRate, bitrate: bitrate)
    }

    static func decoder(_ codec: Codec) throws -> any VideoDecoder {
        try VideoDecoders.open(codec)
    }

    @Test("a frame is decoded to a similar one at once, with its own time", arguments: [Codec.h264, .vp8, .vp9, .av1])
    func roundTrip(_ codec: Codec) throws {
        let (encoder, decoder) = (try Self.encoder(codec), try Self.decoder(codec))
        for number in 0..<30 {
            let videoFrame = SampleFrame.moving(number)
            let frames = try encoder.encode(videoFrame, forceKeyFrame: false)
            #expect(frames.count == 1)
            let frame = try #require(frames.first)
            #expect(frame.codec == codec)
            #expect(frame.isKeyFrame == (number == 0))
            #expect(frame.timestamp == videoFrame.timestamp)
            #expect(frame.captureTime == videoFrame.captureTime)
            let shown = try decoder.decode(frame)
            #expect(shown.count == 1)
            #expect(shown.first?.timestamp == videoFrame.timestamp)
            #expect(shown.first?.captureTime == videoFrame.captureTime)
            #expect(SampleFrame.peakSignalToNoiseRatio(videoFrame, try #require(shown.first)) > 30)
        }
    }

    @Test("each forced key frame is an IDR picture preceded by its parameter sets")
    func forcedKeyFramesAreIDR() throws {
        let encoder = try Self.encoder(.h264)
        for number in 0..<40 {
            let isForced = number % 9 == 4
            let frame = try #require(try encoder.encode(SampleFrame.moving(number), forceKeyFrame: isForced).first)
            let types = AnnexB.types(frame.bytes)
            #expect(frame.isKeyFrame == (isForced || number == 0))
            guard frame.isKeyFrame else {
                #expect(types == [1])
                continue
            }
            let sets = types.filter { $0 != 6 }
            #expect(sets == [7, 8, 5])
            #expect(frame.bytes.starts(with: [0, 0, 0, 1]))
            // A decoder without any earlier frame can decode it.
            #expect(try H264Decoder().decode(frame).count == 1)
        }
    }

    @Test(
        "a skipped frame is a reference of later ones, and has its timestamp",
        arguments: [Codec.h264, .vp8, .vp9, .av1])
    func skips(_ codec: Codec) throws {
        let (encoder, decoder) = (try Self.encoder(codec), try Self.decoder(codec))
        let reference = try Self.decoder(codec)
        for number in 0..<12 {
            let frame = try #require(try encoder.encode(SampleFrame.moving(number), forceKeyFrame: false).first)
            let whole = try #require(try reference.decode(frame).first)
            guard number == 11 else {
                #expect(try decoder.skip(frame) == [frame.timestamp])
                continue
            }
            let shown = try #require(try decoder.decode(frame).first)
            #expect(SampleFrame.peakSignalToNoiseRatio(shown, whole) == .infinity)
        }
        #expect(throws: CodecError.self) {
            let fresh = try Self.decoder(codec)
            _ = try fresh.skip(try #require(try encoder.encode(SampleFrame.moving(12), forceKeyFrame: false).first))
        }
    }

    @Test("a forced key frame of VP8 can be decoded alone") func vp8KeyFrame() throws {
        let encoder = try Self.encoder(.vp8)
        for number in 0..<12 {
            let frame = try #require(try encoder.encode(SampleFrame.moving(number), forceKeyFrame: number == 7).first)
            #expect(frame.isKeyFrame == (number == 0 || number == 7))
            // RFC 6386, section 9.1: the lowest bit is clear in key frames.
            #expect((frame.bytes[0] & 1 == 0) == frame.isKeyFrame)
            if frame.isKeyFrame { #expect(try VP8Decoder().decode(frame).count == 1) }
        }
    }

    @Test("the encoder makes no B-frames") func noBFrames() throws {
        let encoder = try Self.encoder(.h264)
        for number in 0..<60 {
            let frame = try #require(
                try encoder.encode(SampleFrame.moving(number, noise: 40), forceKeyFrame: false).first)
            #expect(AnnexB.sliceTypes(frame.bytes) == [number == 0 ? 2 : 0])
        }
    }

    @Test(
        "the stream declares constrained baseline profile and the lowest sufficient level",
        arguments: [
            (Dimensions(width: 640, height: 360), 30.0, 30 as UInt8), (Dimensions(width: 1_280, height: 720), 30, 31),
            (Dimensions(width: 1_280, height: 720), 60, 32), (Dimensions(width: 1_920, height: 1_080), 30, 40),
        ])
    func profileAndLevel(_ size: Dimensions, _ frameRate: Double, _ highest: UInt8) throws {
        let encoder = try Self.encoder(.h264, size: size, frameRate: frameRate)
        let frame = try #require(
            try encoder.encode(SampleFrame.moving(0, size: size), forceKeyFrame: false).first)
        let set = try #require(AnnexB.units(frame.bytes).first { $0[0] & 0x1F == 7 })
        #expect(set[1] == 66)
        #expect(set[2] & 0x40 == 0x40)  // constraint_set1: also Main profile, so constrained baseline
        #expect(set[3] <= highest)
    }

    @Test("a change of the bit rate is honored in both directions", arguments: [Codec.h264, .vp8, .vp9])
    func followsBitrateChanges(_ codec: Codec) throws {
        let size = Dimensions(width: 320, height: 180)
        let encoder = try Self.encoder(codec, size: size, kilobits: 1_000)
        let frames = (0..<30).map { SampleFrame.moving($0, size: size, noise: 60) }
        var number = 0
        func measure(seconds: Int) throws -> Double {
            var bytes = 0
            for _ in 0..<seconds * 30 {
                let videoFrame = frames[number % 30].retimed(
                    captureTime: nil, timestamp: MediaTime(ticks: Int64(number) * 3_000, rate: .video))
                number += 1
                for frame in try encoder.encode(videoFrame, forceKeyFrame: false) { bytes += frame.bytes.count }
            }
            return Double(bytes) * 8 / Double(seconds) / 1_000
        }
        func isNear(_ measured: Double, _ asked: Double) -> Bool { measured > 0.75 * asked && measured < 1.25 * asked }
        _ = try measure(seconds: 2)
        let first = try measure(seconds: 3)
        try encoder.setBitrate(.kilobits(300))
        _ = try measure(seconds: 2)
        let second = try measure(seconds: 3)
        try encoder.setBitrate(.kilobits(1_000))
        _ = try measure(seconds: 2)
        let third = try measure(seconds: 3)
        #expect(isNear(first, 1_000), "\(first)")
        #expect(isNear(second, 300), "\(second)")
        #expect(isNear(third, 1_000), "\(third)")
    }

    @Test(
        "a frame of other dimensions is rejected, and the encoder continues",
        arguments: [Codec.h264, .vp8, .vp9, .av1])
    func otherDimensions(_ codec: Codec) throws {
        let encoder = try Self.encoder(codec)
        _ = try encoder.encode(SampleFrame.moving(0), forceKeyFrame: false)
        #expect(throws: CodecError.self) {
            try encoder.encode(SampleFrame.moving(1, size: Dimensions(width: 320, height: 180)), forceKeyFrame: false)
        }
        #expect(try encoder.encode(SampleFrame.moving(2), forceKeyFrame: false).count == 1)
    }

    @Test("invalid settings are rejected", arguments: [Codec.h264, .vp8, .vp9, .av1])
    func settings(_ codec: Codec) {
        for rate in [0, -1, Double.nan, .infinity] {
            #expect(throws: CodecError.self) { try Self.encoder(codec, frameRate: rate) }
        }
        for size in [Dimensions(width: 0, height: 0), Dimensions(width: -2, height: 4)] {
            #expect(throws: CodecError.self) { try Self.encoder(codec, size: size) }
        }
        #expect(throws: CodecError.self) { try Self.encoder(.h264, size: Dimensions(width: 65, height: 36)) }
    }

    @Test("an encoder survives the lowest and the highest bit rate", arguments: [Codec.h264, .vp8, .vp9, .av1])
    func extremeBitrates(_ codec: Codec) throws {
        let encoder = try Self.encoder(codec)
        for (number, rate) in [0, -5, 1, 40_000_000, Int64.max].enumerated() {
            try encoder.setBitrate(Bitrate(bitsPerSecond: rate))
            #expect(try encoder.encode(SampleFrame.moving(number), forceKeyFrame: false).count == 1)
        }
    }
}
