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

    /// Returns the positions of frames whose capture times are awaited, with their codecs.
    private func positions(_ frames: [(EncodedFrame, arrival: Int64)], isComplete: Bool = true) -> [String] {
        var captureTimes = CaptureTimeQueue()
        var timeline = RecordingTimeline(hasVideo: true)
        var released = frames.flatMap { frame, arrival in
            captureTimes.add(ArrivedFrame(frame: frame, arrival: start + .milliseconds(arrival)))
        }
        if isComplete { released += captureTimes.finish() }
        return released.compactMap { arrived in
            timeline.position(of: arrived.frame, arrivedAt: arrived.arrival).map {
                "\(arrived.frame.codec.rawValue) \(Int(($0.seconds * 1_000).rounded()))"
            }
        }
    }

    @Test("frames that arrive before a capture time is known are aligned by it, also if the first key frame is old")
    func awaitedCaptureTimes() {
        // The key frame was captured 220 ms before the audio that arrives with it.
        let frames: [(EncodedFrame, arrival: Int64)] = [
            (frame(0, isKey: true), 0), (audio(0), 1), (frame(33, isKey: false), 2),
            (audio(20, captured: 240), 21), (frame(66, isKey: false, captured: 66), 22), (audio(40), 41),
        ]
        #expect(
            positions(frames, isComplete: false)
                == ["H264 0", "opus 220", "H264 33", "opus 240", "H264 66", "opus 260"])
    }

    @Test("without capture times, arrivals align the tracks after two seconds, or at the end")
    func missingCaptureTimes() {
        let early: [(EncodedFrame, arrival: Int64)] = [(frame(0, isKey: true), 0), (audio(0), 50)]
        #expect(positions(early, isComplete: false) == [])
        #expect(positions(early) == ["H264 0", "opus 50"])
        let late = early + [(frame(2_000, isKey: false), 2_000), (audio(1_960), 2_010)]
        #expect(positions(late, isComplete: false) == ["H264 0", "opus 50", "H264 2000", "opus 2010"])
    }

    @Test("no more frames wait than the queue contains") func awaitedCapacity() {
        var captureTimes = CaptureTimeQueue()
        let released = (0..<512).map { captureTimes.add(ArrivedFrame(frame: audio($0), arrival: start)).count }
        #expect(released.dropLast().allSatisfy { $0 == 0 } && released.last == 512)
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
