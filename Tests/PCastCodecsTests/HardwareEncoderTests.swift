import Foundation
import PCastCore
import Testing

@testable import PCastCodecs

/// The trial of hardware encoders, run with libx264 in place of one, opened with good and bad parameters.
@Suite struct HardwareEncoderTests {
    private static func model(
        _ parameters: String = "scenecut=0", options: [String: String] = [:], supportsRateChange: Bool = false,
        surfaces: [HardwareEncoderModel.Surface] = [.memory(isNV12: true)]
    ) -> HardwareEncoderModel {
        let defaults = ["preset": "superfast", "tune": "zerolatency", "forced-idr": "1", "x264-params": parameters]
        return HardwareEncoderModel(
            name: "libx264", variants: [defaults.merging(options) { $1 }], supportsRateChange: supportsRateChange
        ) { .success(surfaces) }
    }

    private static func open(
        _ model: HardwareEncoderModel, size: Dimensions = SampleFrame.size, kilobits: Int64 = 1_500
    ) throws -> HardwareVideoEncoder {
        try HardwareVideoEncoder(model, dimensions: size, frameRate: 30, bitrate: .kilobits(kilobits))
    }

    @Test(
        "an encoder that makes IDR frames with parameter sets on request passes the trial",
        arguments: [
            [HardwareEncoderModel.Surface.memory(isNV12: false)], [.memory(isNV12: true)],
            // The first surface may fail.
            [.vaapi(node: "/dev/dri/none"), .memory(isNV12: false)],
        ])
    func works(_ surfaces: [HardwareEncoderModel.Surface]) {
        #expect(HardwareEncoderTrial.failure(of: Self.model(surfaces: surfaces)) == nil)
    }

    @Test(
        "an encoder that fails the trial is reported with the reason",
        arguments: [
            ("repeat-headers=0", [:], "its first frame is not a key frame"),
            ("bframes=2:b-adapt=0", [:], "the video has B-frames"),
            ("rc-lookahead=20:sync-lookahead=20", ["tune": "film"], "its first frame is not a key frame"),
        ])
    func fails(_ parameters: String, _ options: [String: String], _ reason: String) throws {
        let found = HardwareEncoderTrial.failure(of: Self.model(parameters, options: options))
        #expect(try #require(found).hasPrefix(reason))
    }

    @Test("an encoder that ignores requests for key frames fails the trial") func ignoresKeyFrameRequests() throws {
        let encoder = DeafEncoder(try Self.open(Self.model()))
        #expect(try HardwareEncoderTrial.failure(of: encoder) == "it does not encode a key frame on request")
    }

    @Test("a missing encoder fails with what is missing") func absent() {
        let unknown = HardwareEncoderModel(name: "h264_nothing", variants: [[:]], supportsRateChange: false) {
            .success([.memory(isNV12: false)])
        }
        #expect(HardwareEncoderTrial.failure(of: unknown) == "FFmpeg was built without it")
        let without = HardwareEncoderModel(name: "libx264", variants: [[:]], supportsRateChange: false) {
            .failure(HardwareEncoderModel.Unavailable(reason: "there is no processor"))
        }
        #expect(HardwareEncoderTrial.failure(of: without) == "there is no processor")
        let node = Self.model(surfaces: [.vaapi(node: "/dev/dri/none")])
        #expect(HardwareEncoderTrial.failure(of: node) != nil)
    }

    @Test("frames are the same after decoding, whatever the memory of the input", arguments: [false, true])
    func frames(_ isNV12: Bool) throws {
        let encoder = try Self.open(Self.model(surfaces: [.memory(isNV12: isNV12)]))
        let decoder = try H264Decoder()
        for number in 0..<20 {
            let videoFrame = SampleFrame.moving(number)
            let frame = try #require(try encoder.encode(videoFrame, forceKeyFrame: number == 7).first)
            #expect(frame.isKeyFrame == (number == 0 || number == 7))
            #expect(frame.timestamp == videoFrame.timestamp)
            #expect(frame.captureTime == videoFrame.captureTime)
            let shown = try #require(try decoder.decode(frame).first)
            #expect(SampleFrame.peakSignalToNoiseRatio(videoFrame, shown) > 30)
        }
    }

    @Test(
        "a bit rate change is followed, if necessary by reopening the encoder at a key frame",
        arguments: [false, true])
    func bitrateChangeReopensEncoder(_ supportsRateChange: Bool) throws {
        let size = Dimensions(width: 320, height: 180)
        let encoder = try Self.open(Self.model(supportsRateChange: supportsRateChange), size: size, kilobits: 1_000)
        let frames = (0..<30).map { SampleFrame.moving($0, size: size, noise: 60) }
        var number = 0
        var keyFrames = 0
        func measure(seconds: Int, forceKeyFrame: Bool = false) throws -> Double {
            var bytes = 0
            for index in 0..<seconds * 30 {
                let videoFrame = frames[number % 30].retimed(
                    captureTime: nil, timestamp: MediaTime(ticks: Int64(number) * 3_000, rate: .video))
                number += 1
                for frame in try encoder.encode(videoFrame, forceKeyFrame: forceKeyFrame && index == 0) {
                    bytes += frame.bytes.count
                    keyFrames += frame.isKeyFrame ? 1 : 0
                }
            }
            return Double(bytes) * 8 / Double(seconds) / 1_000
        }
        func isNear(_ measured: Double, _ asked: Double) -> Bool { measured > 0.75 * asked && measured < 1.25 * asked }
        _ = try measure(seconds: 2)
        #expect(isNear(try measure(seconds: 3), 1_000))
        // A steep decrease cannot wait.
        try encoder.setBitrate(.kilobits(300))
        _ = try measure(seconds: 2)
        #expect(isNear(try measure(seconds: 3), 300))
        #expect(keyFrames == (supportsRateChange ? 1 : 2))
        // An increase can wait if necessary.
        try encoder.setBitrate(.kilobits(1_000))
        _ = try measure(seconds: 2)
        #expect(isNear(try measure(seconds: 3), supportsRateChange ? 1_000 : 300))
        _ = try measure(seconds: 2, forceKeyFrame: true)
        #expect(isNear(try measure(seconds: 3), 1_000))
        #expect(keyFrames == (supportsRateChange ? 2 : 3))
    }

    @Test("an encoder that fails while running is replaced, and the stream continues") func replaced() throws {
        let first = FailingEncoder(try Self.open(Self.model()), failsAt: 5)
        let encoder = ReplaceableVideoEncoder(first, bitrate: .kilobits(1_500)) { bitrate throws(CodecError) in
            try X264Encoder(dimensions: SampleFrame.size, frameRate: 30, bitrate: bitrate)
        }
        let decoder = try H264Decoder()
        for number in 0..<12 {
            let frame = try #require(try encoder.encode(SampleFrame.moving(number), forceKeyFrame: false).first)
            #expect(frame.isKeyFrame == (number == 0 || number == 5))
            #expect(try decoder.decode(frame).count == 1)
            #expect(encoder.name == (number < 5 ? "failing" : "libx264"))
        }
        // A frame of another size is rejected, and replaces nothing.
        #expect(throws: CodecError.self) {
            try encoder.encode(SampleFrame.moving(0, size: Dimensions(width: 64, height: 64)), forceKeyFrame: false)
        }
        #expect(try encoder.encode(SampleFrame.moving(12), forceKeyFrame: false).first?.isKeyFrame == false)
    }
}

/// An encoder whose hardware fails at a frame.
private final class FailingEncoder: VideoEncoder {
    let name = "failing"
    private let encoder: any VideoEncoder
    private var left: Int

    init(_ encoder: any VideoEncoder, failsAt videoFrame: Int) {
        self.encoder = encoder
        left = videoFrame
    }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        left -= 1
        guard left >= 0 else { throw .failed("encoding", reason: "Input/output error") }
        return try encoder.encode(frame, forceKeyFrame: forceKeyFrame)
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) { try encoder.setBitrate(bitrate) }
}

/// An encoder that behaves like NVENC by default.
private final class DeafEncoder: VideoEncoder {
    let name = "deaf"
    private let encoder: any VideoEncoder

    init(_ encoder: any VideoEncoder) { self.encoder = encoder }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        try encoder.encode(frame, forceKeyFrame: false)
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) { try encoder.setBitrate(bitrate) }
}
