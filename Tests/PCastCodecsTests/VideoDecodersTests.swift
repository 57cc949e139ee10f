import PCastCodecs
import PCastCore
import Testing

/// The decoders of VP9, AV1 and H.265.
@Suite struct VideoDecodersTests {
    /// The first frames of a video with 208x120 gray pixels.
    struct Example: Sendable, CustomTestStringConvertible {
        let encoder: String
        let codec: Codec
        /// The frames in hexadecimal digits.
        let frames: [String]

        var testDescription: String { encoder }

        var encodedFrames: [EncodedFrame] {
            frames.enumerated().map { index, text in
                let digits = text.compactMap(\.hexDigitValue)
                let bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
                return EncodedFrame(
                    codec: codec, bytes: bytes, isKeyFrame: index == 0,
                    timestamp: MediaTime(ticks: Int64(index) * 3_600, rate: .video), captureTime: nil)
            }
        }
    }

    static let examples = [
        Example(
            encoder: "libvpx 1.12", codec: .vp9,
            frames: [
                "82498342000cf007761238241c18c600002040006b08f402705380e894a4af9f1ff9c27b0c00",
                "860040929cd058c000037000005a365c8bb600",
            ]),
        Example(
            encoder: "libaom 3.6", codec: .av1,
            frames: [
                "12000a0a00000003b67f736be401321f10008440020820880002c1b4ab975f07f0e414dcab17445d1bcb23ef4c0140",
                "1200321730038080fdf8069a804f3cf38b112080009746ba3f6a68",
            ]),
        Example(
            encoder: "SVT-AV1 1.4", codec: .av1,
            frames: ["12000a0a00000003b67f73efe401321c100087408041041000008097d71c110108dac3369063877abb97a34a"]),
        Example(
            encoder: "x265 3.5", codec: .h265,
            frames: [
                "0000000140010c01ffff01600000030090000003000003003c928090000000014201010160000003009000000300000300"
                    + "3ca01a20796592a4932bc05a020000030002000003003210000000014401c172b462400000012801af1d44c8f701b2f5"
                    + "afb1c007f44ca50988ab280000030019a00001040002f564", "000000010201d0097e10c63a95f9839aa2e895c0",
            ]),
    ]

    @Test("frames of other encoders are decoded without delay", arguments: examples)
    func decodes(_ example: Example) throws {
        let decoder = try VideoDecoders.open(example.codec)
        for frame in example.encodedFrames {
            #expect(try decoder.decode(frame).map(\.dimensions) == [Dimensions(width: 208, height: 120)])
        }
    }

    /// A superframe of VP9 with its index and two spatial layers, which are key frames of gray pixels with 160x96 and 320x192.
    private static let superframe: [UInt8] = {
        let texts = [
            "824983420009f005f60638241c184a0000d047d8fd620cdbe93c390ebda0006b391921de5c226c3f858475b7b04dc845"
                + "52c4af030259741921de5c226c3f858475b7b04dc84552c4af03025400bcb20b708a09c068cf6d8a00",
            "824983420013f00bf60638241c184a0000d047d8fd61ee31493757fe13b8006c48423fc2b1629345e193ac2cdcb7be71"
                + "b0cd6bb3ff426570fc7c491629bcedccf657226161e2023205a1b4c53237d64a50fa2de811b8366c903d69c197619c78"
                + "f4e7f051ff2d5989cfb1330400",
        ]
        var (bytes, index): ([UInt8], [UInt8]) = ([], [0xC9])
        for text in texts {
            let digits = text.compactMap(\.hexDigitValue)
            bytes += stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
            index += [UInt8(digits.count / 2), 0]
        }
        return bytes + index + [0xC9]
    }()

    @Test("of the spatial layers of VP9 in one SSRC, the highest one is shown, once")
    func spatialLayers() throws {
        let decoder = try VideoDecoders.open(.vp9)
        for index in 0..<3 {
            let timestamp = MediaTime(ticks: Int64(index) * 3_000, rate: .video)
            let encoded = EncodedFrame(
                codec: .vp9, bytes: Self.superframe, isKeyFrame: true, timestamp: timestamp, captureTime: nil)
            let frames = try decoder.decode(encoded)
            #expect(frames.map(\.dimensions) == [Dimensions(width: 320, height: 192)])
            #expect(frames.map(\.timestamp) == [timestamp])
            #expect(try decoder.skip(encoded) == [timestamp])
        }
    }

    @Test("a stream is decoded from its first key frame on, and audio has no video decoder")
    func refuses() throws {
        let decoder = try VideoDecoders.open(.vp9)
        let frame = EncodedFrame(
            codec: .vp9, bytes: [0x86, 0], isKeyFrame: false, timestamp: MediaTime(ticks: 0, rate: .video),
            captureTime: nil)
        #expect(throws: CodecError.self) { try decoder.decode(frame) }
        #expect(throws: CodecError.self) { _ = try VideoDecoders.open(.opus) }
    }
}
