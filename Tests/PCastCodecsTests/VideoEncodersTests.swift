import Foundation
import PCastCodecs
import PCastCore
import Testing

@Suite struct VideoEncodersTests {
    @Test("encoders are listed with the reasons against them, and the software ones work") func list() {
        let infos = VideoEncoders.available()
        let hardware = ["h264_nvenc", "h264_vaapi", "h264_v4l2m2m"]
        #expect(infos.map(\.name) == ["libx264", "libvpx", "libvpx-vp9", "libaom-av1"] + hardware)
        #expect(infos.map(\.codec) == [.h264, .vp8, .vp9, .av1, .h264, .h264, .h264])
        for info in infos {
            #expect(info.isUsable == (info.reason == nil))
            #expect(info.isUsable || info.isHardware)
        }
        #expect(VideoEncoders.available() == infos)
        for codec in Codec.allCases {
            #expect(VideoEncoders.names(of: codec) == infos.filter { $0.codec == codec }.map(\.name))
        }
        let hasProcessor = FileManager.default.fileExists(atPath: "/dev/dri/renderD128")
        if !hasProcessor { #expect(infos[5].reason?.contains("/dev/dri/renderD128") == true) }
    }

    @Test("every available encoder encodes requested key frames", arguments: [Codec.h264, .vp8, .vp9, .av1])
    func choices(_ codec: Codec) throws {
        let usable = VideoEncoders.available().filter { $0.isUsable && $0.codec == codec }.map(\.name)
        let choices = [VideoEncoderChoice.automatic, .software] + usable.map { .named($0) }
        for choice in choices {
            let encoder = try VideoEncoders.open(
                choice, codec: codec, dimensions: SampleFrame.size, frameRate: 30, bitrate: .kilobits(1_500))
            #expect(usable.contains(encoder.name))
            if choice == .software { #expect(encoder.name == VideoEncoders.names(of: codec).first) }
            if case .named(let name) = choice { #expect(encoder.name == name) }
            let frames = try (0..<8).flatMap {
                try encoder.encode(SampleFrame.moving($0), forceKeyFrame: $0 == 3)
            }
            let keyFrames = frames.filter(\.isKeyFrame).map(\.timestamp)
            #expect(keyFrames == [SampleFrame.moving(0).timestamp, SampleFrame.moving(3).timestamp])
        }
    }

    @Test("the speeds of usable encoders are measured, up to the first size that is not encoded in real time")
    func speeds() throws {
        let infos = VideoEncoders.measured()
        #expect(infos.map(\.name) == VideoEncoders.available().map(\.name))
        for info in infos {
            #expect(info.speeds.isEmpty == !info.isUsable)
            #expect(info.speeds.allSatisfy { $0.framesPerSecond > 0 })
            #expect(info.speeds.dropLast().allSatisfy { $0.isRealTime })
            let widths = info.speeds.map(\.dimensions.width)
            #expect(widths == Array([640, 1_280, 1_920].prefix(widths.count)))
            #expect(info.realTimeDimensions == info.speeds.last { $0.isRealTime }?.dimensions)
        }
    }

    @Test("without a hardware encoder, choosing one by name is rejected and automatic is not") func absent()
        throws
    {
        let size = Dimensions(width: 320, height: 180)
        for info in VideoEncoders.available() where !info.isUsable {
            let error = #expect(throws: CodecError.self) {
                try VideoEncoders.open(
                    .named(info.name), codec: .h264, dimensions: size, frameRate: 30, bitrate: .kilobits(500))
            }
            #expect("\(try #require(error))".contains(try #require(info.reason)))
        }
        for name in ["nonsense", "libvpx", "libaom-av1", ""] {
            #expect(throws: CodecError.self) {
                try VideoEncoders.open(
                    .named(name), codec: .h264, dimensions: size, frameRate: 30, bitrate: .kilobits(500))
            }
        }
        // This size is smaller than the minimum of any hardware encoder.
        let tiny = Dimensions(width: 16, height: 16)
        let encoder = try VideoEncoders.open(codec: .h264, dimensions: tiny, frameRate: 30, bitrate: .kilobits(100))
        #expect(try encoder.encode(SampleFrame.moving(0, size: tiny), forceKeyFrame: false).count == 1)
    }

    @Test("a choice is parsed from a word") func words() {
        #expect(VideoEncoderChoice("automatic") == .automatic)
        #expect(VideoEncoderChoice("software") == .software)
        #expect(VideoEncoderChoice("h264_vaapi") == .named("h264_vaapi"))
    }

    @Test("an encoder releases a frame after encoding it") func frames() throws {
        let encoder = try X264Encoder(dimensions: SampleFrame.size, frameRate: 30, bitrate: .kilobits(1_500))
        for number in 0..<5 {
            var frame: VideoFrame? = SampleFrame.moving(number)
            weak let weakFrame = frame
            _ = try encoder.encode(frame!, forceKeyFrame: false)
            frame = nil
            #expect(weakFrame == nil)
        }
    }
}
