import PCastCore
import Testing

@testable import PCastPlatform

/// RTMP publishers of H.265, AV1 and VP9.
@Suite("Codecs of RTMP publishers", .timeLimit(.minutes(5)))
struct RTMPCodecTests {
    /// The messages of an encoder with video of 64x48. Headers are those of FFmpeg 9, and frames are not decodable.
    struct Example: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let fourCC: String
        /// The record of the sequence header.
        let record: [UInt8]
        let keyFrame: [UInt8]
        /// The beginning of the codec string.
        let codecString: String

        var configurationMessage: [UInt8] { [0x90] + Array(fourCC.utf8) + record }
        /// A message of the type `CodedFramesX`.
        var frameMessage: [UInt8] { [0x93] + Array(fourCC.utf8) + keyFrame }

        /// The parameter sets are in the record only.
        static let h265 = Example(
            testDescription: "H265", fourCC: "hvc1",
            record: bytes(
                """
                0101600000009000000000001ef000fcfdf8f800000f03200001001840010c01ffff01600000030090000003000003001e928090210001
                002742010101600000030090000003000003001ea0208316592ae4caf0168080000003008000000c8422000100064401c173d089
                """), keyFrame: [0, 0, 0, 8, 0x28, 1, 0xAF, 6, 0x58, 0xFC, 0x37, 0xA0], codecString: "hvc1.1.6.L30")
        /// The sequence header is in the record only.
        static let av1 = Example(
            testDescription: "AV1", fourCC: "av01", record: bytes("81000c000a0b02000004957fbc02f80040"),
            keyFrame: [0x12, 0, 0x32, 3, 0x10, 1, 2], codecString: "av01.0.00M.08")
        static let vp9 = Example(
            testDescription: "VP9", fourCC: "vp09", record: bytes("01000000000a820202020000"),
            keyFrame: bytes("824983420003f002f60638241c18420004605f7fbfbccfa6f5"), codecString: "vp09.00")
        static let all = [h265, av1, vp9]

        private static func bytes(_ text: String) -> [UInt8] {
            let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }
    }

    private func run(_ body: (TestPlatform, _ port: Int) async throws -> Void) async throws {
        try await TestPlatform.runConfigured { configuration in
            configuration.rtmp.port = 0
        } _: { platform in
            try await body(platform, try #require(platform.listening.rtmp.port))
        }
    }

    @Test("the video of a publisher is forwarded, and its format is that of its headers", arguments: Example.all)
    func formats(example: Example) async throws {
        try await run { platform, port in
            let encoder = try await RTMPEncoder.publish(try Tokens.publishing(), to: port)
            #expect(try await encoder.receives("NetStream.Publish.Start"))
            try await encoder.sendMetadata()
            try await encoder.sendVideo(example.configurationMessage)
            var timestamp: UInt32 = 0
            var text = ""
            let expected = [
                #""codecString":"\#(example.codecString)"#, #""codecs":["\#(example.testDescription)"]"#,
                #""width":64"#,
                #""height":48"#,
            ]
            // The format is that of a key frame which the platform has received.
            let isReported = try await eventually {
                try await encoder.sendVideo(example.frameMessage, timestamp: timestamp)
                timestamp += 40
                text = try await platform.ask("GET", "/pcast/streams").body
                return expected.allSatisfy { text.contains($0) }
            }
            #expect(isReported, "\(text)")
            #expect(!encoder.hasReceived("is not supported"))
            try await encoder.close()
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }

    @Test("a video that is larger than the key permits is rejected, whatever its codec", arguments: Example.all)
    func sizes(example: Example) async throws {
        try await run { platform, port in
            let answer = try await platform.ask("PUT", "/pcast/key/small", #"{"limits":{"width":32}}"#)
            let key = try #require(answer.body.firstMatch(of: /"streamKey":"([^"]+)"/)?.1)
            let encoder = try await RTMPEncoder.publish(String(key), to: port)
            #expect(try await encoder.receives("NetStream.Publish.Start"))
            try await encoder.sendMetadata()
            try await encoder.sendVideo(example.configurationMessage)
            // The connection may be closed already, if the sequence header states the size.
            try? await encoder.sendVideo(example.frameMessage)
            #expect(try await encoder.receives("the stream key permits at most 32 wide"))
            #expect(try await eventually { encoder.isClosed })
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }

    @Test("the encoder receives a warning if its tracks have different codecs, and the first one is forwarded")
    func mixedCodecs() async throws {
        try await run { platform, port in
            let encoder = try await RTMPEncoder.publish(try Tokens.publishing(), to: port)
            #expect(try await encoder.receives("NetStream.Publish.Start"))
            try await encoder.sendMetadata()
            // Multitrack with one track each: the sequence headers.
            try await encoder.sendVideo([0x96, 0] + Array("vp08".utf8) + [1])
            try await encoder.sendVideo([0x96, 0] + Array("vp09".utf8) + [0] + Example.vp9.record)
            try await encoder.sendVideo(Example.vp9.frameMessage)
            #expect(try await encoder.receives("left out: video track 1; use one codec for all"))
            #expect(
                try await eventually {
                    try await platform.ask("GET", "/pcast/streams").body.contains(#""codecs":["VP9"]"#)
                })
            try await encoder.close()
        }
    }
}
