import PCastCore
import Testing

@testable import PCast

/// The key frames of pushed streams.
@Suite("The interval of key frames in pushes")
struct KeyFrameIntervalTests {
    private static func frame(_ codec: Codec, isKeyFrame: Bool) -> EncodedFrame {
        EncodedFrame(
            codec: codec, bytes: [1], isKeyFrame: isKeyFrame, timestamp: MediaTime(ticks: 0, rate: codec.clockRate),
            captureTime: nil)
    }

    /// Returns the times in milliseconds at which a key frame is requested. Video has a frame each 100 ms, and key frames at
    /// some times.
    private static func requests(until end: Int64, keyFrames: Set<Int64>) -> [Int64] {
        var interval = KeyFrameInterval()
        return stride(from: 0, through: end, by: 100).filter { time in
            let now = Instant(nanoseconds: 0) + .milliseconds(time)
            let isRequestedForAudio = interval.observe(frame(.opus, isKeyFrame: true), at: now)
            #expect(!isRequestedForAudio)
            return interval.observe(frame(.h264, isKeyFrame: keyFrames.contains(time)), at: now)
        }
    }

    @Test("a key frame is requested two seconds after the last one, and again if none arrives")
    func requests() {
        #expect(Self.requests(until: 5_000, keyFrames: [0]) == [2_000, 4_000])
        #expect(Self.requests(until: 6_000, keyFrames: [0, 2_200]) == [2_000, 4_200])
    }

    @Test("nothing is requested of a source with regular key frames, or before the first one")
    func regular() {
        #expect(Self.requests(until: 10_000, keyFrames: [0, 1_900, 3_800, 5_700, 7_600, 9_500]) == [])
        #expect(Self.requests(until: 10_000, keyFrames: []) == [])
    }
}
