import Foundation
import PCastCore
import Testing

@testable import PCastCodecs

/// What is asked of a hardware encoder, asked of libx264 in its place, opened well and badly.
@Suite struct HardwareEncoderTests {
    private static func model(
        _ parameters: String = "scenecut=0", options: [String: String] = [:], obeysRate: Bool = false,
        surfaces: [HardwareEncoderModel.Surface] = [.memory(isNV12: true)]
    ) -> HardwareEncoderModel {
        let defaults = ["preset": "superfast", "tune": "zerolatency", "forced-idr": "1", "x264-params": parameters]
        return HardwareEncoderModel(
            name: "libx264", variants: [defaults.merging(options) { $1 }], obeysRate: obeysRate
        ) { .success(surfaces) }
    }

    private static func open(
        _ model: HardwareEncoderModel, size: Dimensions = SampleFrame.size, kilobits: Int64 = 1_500
    ) throws -> HardwareVideoEncoder {
        try HardwareVideoEncoder(model, dimensions: size, frameRate: 30, bitrate: .kilobits(kilobits))
    }

    @Test(
        "COD3: one that makes IDR pictures with parameter sets when it is asked passes the trial",
        arguments: [
            [HardwareEncoderModel.Surface.memory(isNV12: false)], [.memory(isNV12: true)],
            // The first way may fail.
            [.vaapi(node: "/dev/dri/none"), .memory(isNV12: false)],
        ])
    func works(_ surfaces: [HardwareEncoderModel.Surface]) {
        #expect(HardwareEncoderTrial.failure(of: Self.model(surfaces: surfaces)) == nil)
    }

    @Test(
        "COD3: one that does not is told from those that do, and why is said",
        arguments: [
            ("repeat-headers=0", [:], "its first frame is not a key frame"),
            ("bframes=2:b-adapt=0", [:], "the video has B-frames"),
            ("rc-lookahead=20:sync-lookahead=20", ["tune": "film"], "its first frame is not a key frame"),
        ])
    func fails(_ parameters: String, _ options: [String: String], _ reason: String) throws {
        let found = HardwareEncoderTrial.failure(of: Self.model(parameters, options: options))
        #expect(try #require(found).hasPrefix(reason))
    }

    @Test("COD3: one that is deaf to being asked for a key frame does not pass") func deaf() throws {
        let encoder = DeafEncoder(try Self.open(Self.model()))
        #expect(try HardwareEncoderTrial.failure(of: encoder) == "it does not encode a key frame on request")
    }

    @Test("one that is not there fails with what is missing") func absent() {
        let unknown = HardwareEncoderModel(name: "h264_nothing", variants: [[:]], obeysRate: false) {
            .success([.memory(isNV12: false)])
        }
        #expect(HardwareEncoderTrial.failure(of: unknown) == "FFmpeg was built without it")
        let without = HardwareEncoderModel(name: "libx264", variants: [[:]], obeysRate: false) {
            .failure(HardwareEncoderModel.Absence(reason: "there is no processor"))
        }
        #expect(HardwareEncoderTrial.failure(of: without) == "there is no processor")
        let node = Self.model(surfaces: [.vaapi(node: "/dev/dri/none")])
        #expect(HardwareEncoderTrial.failure(of: node) != nil)
    }

    @Test("pictures come back alike, whatever the memory they are handed over in", arguments: [false, true])
    func pictures(_ isNV12: Bool) throws {
        let encoder = try Self.open(Self.model(surfaces: [.memory(isNV12: isNV12)]))
        let decoder = try H264Decoder()
        for number in 0..<20 {
            let picture = SampleFrame.moving(number)
            let frame = try #require(try encoder.encode(picture, forceKeyFrame: number == 7).first)
            #expect(frame.isKeyFrame == (number == 0 || number == 7))
            #expect(frame.timestamp == picture.timestamp)
            #expect(frame.captureTime == picture.captureTime)
            let shown = try #require(try decoder.decode(frame).first)
            #expect(SampleFrame.peakSignalToNoiseRatio(picture, shown) > 30)
        }
    }

    @Test(
        "COD2: a change of the rate is obeyed, by opening it again at a key frame where it cannot otherwise",
        arguments: [false, true])
    func cod2(_ obeysRate: Bool) throws {
        let size = Dimensions(width: 320, height: 180)
        let encoder = try Self.open(Self.model(obeysRate: obeysRate), size: size, kilobits: 1_000)
        let pictures = (0..<30).map { SampleFrame.moving($0, size: size, noise: 60) }
        var number = 0
        var keyFrames = 0
        func measure(seconds: Int, forceKeyFrame: Bool = false) throws -> Double {
            var bytes = 0
            for index in 0..<seconds * 30 {
                let picture = pictures[number % 30].retimed(
                    captureTime: nil, timestamp: MediaTime(ticks: Int64(number) * 3_000, rate: .video))
                number += 1
                for frame in try encoder.encode(picture, forceKeyFrame: forceKeyFrame && index == 0) {
                    bytes += frame.bytes.count
                    keyFrames += frame.isKeyFrame ? 1 : 0
                }
            }
            return Double(bytes) * 8 / Double(seconds) / 1_000
        }
        func isNear(_ measured: Double, _ asked: Double) -> Bool { measured > 0.75 * asked && measured < 1.25 * asked }
        _ = try measure(seconds: 2)
        #expect(isNear(try measure(seconds: 3), 1_000))
        // A steep fall cannot wait.
        try encoder.setBitrate(.kilobits(300))
        _ = try measure(seconds: 2)
        #expect(isNear(try measure(seconds: 3), 300))
        #expect(keyFrames == (obeysRate ? 1 : 2))
        // A rise can, if it must.
        try encoder.setBitrate(.kilobits(1_000))
        _ = try measure(seconds: 2)
        #expect(isNear(try measure(seconds: 3), obeysRate ? 1_000 : 300))
        _ = try measure(seconds: 2, forceKeyFrame: true)
        #expect(isNear(try measure(seconds: 3), 1_000))
        #expect(keyFrames == (obeysRate ? 2 : 3))
    }

    @Test("one that fails while it runs is replaced, and the stream goes on with a key frame") func replaced() throws {
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
        // Another size is refused, and replaces nothing.
        #expect(throws: CodecError.self) {
            try encoder.encode(SampleFrame.moving(0, size: Dimensions(width: 64, height: 64)), forceKeyFrame: false)
        }
        #expect(try encoder.encode(SampleFrame.moving(12), forceKeyFrame: false).first?.isKeyFrame == false)
    }
}

/// An encoder whose hardware fails at a picture.
private final class FailingEncoder: VideoEncoder {
    let name = "failing"
    private let encoder: any VideoEncoder
    private var left: Int

    init(_ encoder: any VideoEncoder, failsAt picture: Int) {
        self.encoder = encoder
        left = picture
    }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        left -= 1
        guard left >= 0 else { throw .failed("encoding", reason: "Input/output error") }
        return try encoder.encode(frame, forceKeyFrame: forceKeyFrame)
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) { try encoder.setBitrate(bitrate) }
}

/// An encoder as NVENC is by default.
private final class DeafEncoder: VideoEncoder {
    let name = "deaf"
    private let encoder: any VideoEncoder

    init(_ encoder: any VideoEncoder) { self.encoder = encoder }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        try encoder.encode(frame, forceKeyFrame: false)
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) { try encoder.setBitrate(bitrate) }
}
