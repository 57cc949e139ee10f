import PCastCore
import PCastDevices
import Synchronization
import Testing

@testable import PCast

/// Frames that arrive encoded and are passed through.
struct PassedOnFramesTests {
    private final class Seen: Sendable {
        let passed = Mutex<[Int64]>([])
        let requests = Mutex(0)
    }

    private func encoding(_ codec: Codec, _ seen: Seen) -> VideoEncoding {
        VideoEncoding(
            codec: codec, bitrate: nil, frameRate: 30, limits: BandwidthLimits(),
            keyFrameNeeded: { seen.requests.withLock { $0 += 1 } },
            encoded: { frame in seen.passed.withLock { $0.append(frame.timestamp.ticks) } },
            failed: { Issue.record("\($0)") })
    }

    private func frame(_ number: Int64, isKeyFrame: Bool = false) -> VideoSample {
        .coded(
            EncodedFrame(
                codec: .h264, bytes: [0, 0, 0, 1, 0x65], isKeyFrame: isKeyFrame,
                timestamp: MediaTime(ticks: number, rate: .video), captureTime: nil))
    }

    @Test("after a dropped frame the next one passed through is a requested key frame") func hole() {
        let seen = Seen()
        let encoding = encoding(.h264, seen)
        encoding.push(frame(1, isKeyFrame: true))
        encoding.push(frame(2))
        encoding.dropFrame(frame(3))
        #expect(seen.requests.withLock { $0 } == 0)
        for number in 4...20 { encoding.push(frame(Int64(number))) }
        encoding.push(frame(21, isKeyFrame: true))
        encoding.push(frame(22))
        #expect(seen.passed.withLock { $0 } == [1, 2, 21, 22])
        // One request is enough, because the first is still pending.
        #expect(seen.requests.withLock { $0 } == 1)
    }

    @Test("if decoded frames must be dropped, the source gets a request for a key frame")
    func dropped() {
        let seen = Seen()
        let encoding = encoding(.vp8, seen)
        encoding.push(frame(1, isKeyFrame: true))
        encoding.push(frame(2))
        #expect(seen.requests.withLock { $0 } == 0)
        encoding.push(frame(3))
        #expect(seen.requests.withLock { $0 } == 1)
        #expect(seen.passed.withLock { $0 }.isEmpty)
    }
}
