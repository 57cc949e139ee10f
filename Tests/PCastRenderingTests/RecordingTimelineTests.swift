import PCastCore
import Testing

@testable import PCastRendering

@Suite("The times of frames in a recording")
struct RecordingTimelineTests {
    private let start = Instant(nanoseconds: 5_000_000_000)
    private let wall = WallTime(millisecondsSinceEpoch: 1_795_227_333_000)

    private func frame(_ milliseconds: Int64, isKey: Bool, captured: Int64? = nil) -> EncodedFrame {
        EncodedFrame(
            codec: .h264, bytes: [], isKeyFrame: isKey,
            timestamp: MediaTime(ticks: 900_000 + milliseconds * 90, rate: .video),
            captureTime: captured.map { wall + .milliseconds($0) })
    }

    private func audio(_ milliseconds: Int64, captured: Int64? = nil) -> EncodedFrame {
        EncodedFrame(
            codec: .opus, bytes: [], isKeyFrame: true,
            timestamp: MediaTime(ticks: 7_777 + milliseconds * 48, rate: .opus),
            captureTime: captured.map { wall + .milliseconds($0) })
    }

    @Test("it begins with the first key frame, and earlier frames are skipped")
    func begins() {
        var timeline = RecordingTimeline(hasVideo: true)
        #expect(timeline.position(of: audio(0), arrivedAt: start) == nil)
        #expect(timeline.position(of: frame(0, isKey: false), arrivedAt: start) == nil)
        #expect(timeline.position(of: frame(33, isKey: true), arrivedAt: start + .milliseconds(33)) == .zero)
        #expect(
            timeline.position(of: frame(66, isKey: false), arrivedAt: start + .milliseconds(90))
                == .milliseconds(33))
        #expect(timeline.position(of: audio(40), arrivedAt: start + .milliseconds(93)) == .milliseconds(60))
    }

    @Test("capture times align the tracks once both are known, however late one started")
    func captureTimes() {
        var timeline = RecordingTimeline(hasVideo: true)
        #expect(timeline.position(of: frame(0, isKey: true, captured: 100), arrivedAt: start) == .zero)
        let late = start + .milliseconds(500)
        #expect(timeline.position(of: audio(0, captured: 90), arrivedAt: late) == nil)
        #expect(timeline.position(of: audio(20, captured: 110), arrivedAt: late) == .milliseconds(10))
        #expect(timeline.position(of: audio(40, captured: 130), arrivedAt: late) == .milliseconds(30))
    }

    @Test("audio alone begins at once")
    func audioAlone() {
        var timeline = RecordingTimeline(hasVideo: false)
        #expect(timeline.position(of: audio(0), arrivedAt: start) == .zero)
        #expect(timeline.position(of: audio(20), arrivedAt: start) == .milliseconds(20))
    }

    @Test("times always increase")
    func monotonic() {
        var timeline = RecordingTimeline(hasVideo: true)
        #expect(timeline.position(of: frame(0, isKey: true), arrivedAt: start) == .zero)
        #expect(timeline.position(of: frame(40, isKey: false), arrivedAt: start) == .milliseconds(40))
        #expect(timeline.position(of: frame(40, isKey: false), arrivedAt: start) == .milliseconds(41))
        #expect(timeline.position(of: frame(20, isKey: false), arrivedAt: start) == .milliseconds(42))
    }
}
