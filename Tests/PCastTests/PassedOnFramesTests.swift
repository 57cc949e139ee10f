import PCastCore
import PCastDevices
import Synchronization
import Testing

@testable import PCast

/// Pictures that come coded, and go on as they are.
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

    private func picture(_ number: Int64, isKeyFrame: Bool = false) -> VideoSample {
        .coded(
            EncodedFrame(
                codec: .h264, bytes: [0, 0, 0, 1, 0x65], isKeyFrame: isKeyFrame,
                timestamp: MediaTime(ticks: number, rate: .video), captureTime: nil))
    }

    @Test("After one was left out, the next that goes on can be decoded alone, and is asked for") func hole() {
        let seen = Seen()
        let encoding = encoding(.h264, seen)
        encoding.push(picture(1, isKeyFrame: true))
        encoding.push(picture(2))
        encoding.leaveOut(picture(3))
        #expect(seen.requests.withLock { $0 } == 0)
        for number in 4...20 { encoding.push(picture(Int64(number))) }
        encoding.push(picture(21, isKeyFrame: true))
        encoding.push(picture(22))
        #expect(seen.passed.withLock { $0 } == [1, 2, 21, 22])
        // Once, for a request is on its way then.
        #expect(seen.requests.withLock { $0 } == 1)
    }

    @Test("Where they are decoded and one has to be dropped, the source is asked for one that can be decoded alone")
    func dropped() {
        let seen = Seen()
        let encoding = encoding(.vp8, seen)
        encoding.push(picture(1, isKeyFrame: true))
        encoding.push(picture(2))
        #expect(seen.requests.withLock { $0 } == 0)
        encoding.push(picture(3))
        #expect(seen.requests.withLock { $0 } == 1)
        #expect(seen.passed.withLock { $0 }.isEmpty)
    }
}
