import PCastCore
import PCastRTP
import Testing

@Suite struct KeyFrameDetectorTests {
    private func inspect(_ payload: [UInt8], _ codec: Codec = .h264) -> KeyFrameDetector.PayloadKind {
        KeyFrameDetector.inspect(codec: codec, payload: payload.span)
    }

    @Test("parameter sets alone are distinguished, because they also precede other frames")
    func parameterSetsAlone() {
        #expect(inspect([0x67, 0x42]) == .parameterSets)
        #expect(inspect([0x68, 0xCE]) == .parameterSets)
        #expect(inspect([0x78, 0, 2, 0x09, 0xF0, 0, 2, 0x67, 0x42]) == .parameterSets)
        #expect(inspect([0x78, 0, 2, 0x67, 0x42, 0, 2, 0x41, 0x9A]) == .parameterSets)
        #expect(inspect([0x7C, 0x87, 0x42]) == .parameterSets)
        #expect(inspect([0x7C, 0x07, 0x42]) == .none)
        #expect(KeyFrameDetector.startsKeyFrame(codec: .h264, payload: [0x67, 0x42].span) == false)
    }

    @Test("an IDR picture without parameter sets is distinguished, and only its first slice counts")
    func idrWithoutParameterSets() {
        #expect(inspect([0x65, 0x88]) == .idr)
        #expect(inspect([0x65, 0x48]) == .none)
        #expect(inspect([0x7C, 0x85, 0x88]) == .idr)
        #expect(inspect([0x7C, 0x05, 0x88]) == .none)
        #expect(inspect([0x78, 0, 2, 0x65, 0x88]) == .idr)
        #expect(inspect([0x78, 0, 2, 0x65, 0x88, 0, 2, 0x67, 0x42]) == .idr)
        #expect(inspect([0x78, 0, 2, 0x68, 0xCE, 0, 2, 0x67, 0x42, 0, 2, 0x65, 0x88]) == .idr)
        #expect(inspect([0x78, 0, 2, 0x67, 0x42, 0, 2, 0x68, 0xCE, 0, 2, 0x65, 0x88]) == .keyFrame)
        #expect(KeyFrameDetector.startsKeyFrame(codec: .h264, payload: [0x65, 0x88].span) == false)
    }

    @Test("neither size nor slices nor broken aggregates make a key frame")
    func otherPayloadsAreNoKeyFrame() {
        for payload: [UInt8] in [
            [], [0x41, 0x9A], [0x06, 0x05], [0x78], [0x78, 0, 9, 0x67], [0x78, 0, 0, 0, 1, 0x67], [0x7C], [0x7C, 0x87],
        ] {
            #expect(inspect(payload) == .none)
        }
    }

    @Test("a VP8 key frame has a clear P bit at the start of partition 0")
    func keyFramesOfVP8() {
        #expect(inspect([0x10, 0x10], .vp8) == .keyFrame)
        #expect(inspect([0x10, 0x11], .vp8) == .none)
        #expect(inspect([0x00, 0x10], .vp8) == .none)
        #expect(inspect([0x11, 0x10], .vp8) == .none)
        #expect(inspect([0x90, 0x80, 0x81, 0x00, 0x10], .vp8) == .keyFrame)
        #expect(inspect([0x10], .vp8) == .none)
        #expect(inspect([0xFC], .opus) == .keyFrame)
    }

    @Test("the dimensions are read from the parameter set")
    func dimensionsFromParameterSet() {
        let set = H264Fixtures.sequenceParameterSet
        let aggregate = [0x78, 0, UInt8(set.count)] + set + [0, 2, 0x68, 0xCE]
        let size = Dimensions(width: 1280, height: 720)
        #expect(KeyFrameDetector.video(codec: .h264, payload: set.span)?.dimensions == size)
        #expect(KeyFrameDetector.video(codec: .h264, payload: set.span)?.codecString == "avc1.42c01f")
        #expect(KeyFrameDetector.video(codec: .h264, payload: aggregate.span)?.dimensions == size)
        #expect(KeyFrameDetector.video(codec: .h264, payload: [0x65, 0x88].span) == nil)
    }

    @Test("the dimensions of VP8 are read from the key frame")
    func dimensionsOfVP8() {
        let payload: [UInt8] = [0x10, 0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x42, 0xE0, 0x81]
        let video = KeyFrameDetector.video(codec: .vp8, payload: payload.span)
        #expect(video?.dimensions == Dimensions(width: 640, height: 480) && video?.codecString == "vp8")
        for length in 0..<payload.count {
            #expect(KeyFrameDetector.video(codec: .vp8, payload: Array(payload.prefix(length)).span) == nil)
        }
    }
}
