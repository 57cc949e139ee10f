import PCastCore
import PCastRTP
import PCastWebRTC
import Synchronization
import Testing

@testable import PCast

/// A stream that reconnects, from both ends: its notifications and its frames.
@Suite struct ReturnTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    private func frame(_ codec: Codec, _ ticks: Int64) -> PeerConnection.Media {
        let rate: ClockRate = codec.mediaType == .video ? .video : .opus
        return .frame(
            EncodedFrame(
                codec: codec, bytes: [], isKeyFrame: true, timestamp: MediaTime(ticks: ticks, rate: rate),
                captureTime: nil), arrival: at(0))
    }

    private func ticks(_ media: PeerConnection.Media) -> Int64? {
        if case .frame(let frame, _) = media { frame.timestamp.ticks } else { nil }
    }

    private func placed(_ splice: inout TimelineSplice, _ media: PeerConnection.Media, _ now: Instant) -> Int64? {
        ticks(splice.map(media, at: now))
    }

    @Test("a track continues at its position, later by the delay of its next frame") func timeline() {
        var splice = TimelineSplice()
        #expect(placed(&splice, frame(.h264, 1_000), at(0)) == 1_000)
        #expect(placed(&splice, frame(.opus, 50), at(0)) == 50)
        splice.cut()
        #expect(placed(&splice, frame(.h264, 777_000), at(2_000)) == 181_000)
        #expect(placed(&splice, frame(.h264, 780_000), at(2_033)) == 184_000)
        #expect(placed(&splice, frame(.opus, 10), at(1_000)) == 48_050)
        splice.cut()
        splice.cut()
        #expect(placed(&splice, frame(.h264, 5), at(3_033)) == 274_000)
    }

    @Test("a stream that is lost before its setup completes is set up again once") func early() {
        let lifecycle = StreamLifecycle(.viewer)
        let begun = Mutex(0)
        lifecycle.streamInterrupted()
        lifecycle.setReturn { begun.withLock { $0 += 1 } }
        #expect(begun.withLock { $0 } == 1)
        lifecycle.returned()
        #expect(lifecycle.interruption == (false, 1))
        lifecycle.streamInterrupted()
        #expect(begun.withLock { $0 } == 2)
    }

    @Test("during a reconnection, events of the old connection end nothing") func oldConnection() {
        let lifecycle = StreamLifecycle(.viewer)
        lifecycle.setReturn {}
        lifecycle.streamInterrupted()
        lifecycle.follow(.failed("gone"))
        #expect(lifecycle.endedInfo == nil)
        lifecycle.returned()
        lifecycle.follow(.failed("gone"))
        #expect(lifecycle.endedInfo?.reason == .failed)
    }

    @Test("a goodbye ends the stream, unless the platform reported the connection lost before")
    func lateGoodbye() async {
        let (back, over) = (StreamLifecycle(.viewer), StreamLifecycle(.viewer))
        for lifecycle in [back, over] {
            lifecycle.setReturn {}
            lifecycle.follow(.connected)
            lifecycle.streamInterrupted()
            lifecycle.returned()
        }
        over.follow(.connected)
        back.follow(.closed)
        over.follow(.closed)
        // The later one of the two goodbyes has taken effect.
        #expect(await over.ended.reason == .ended)
        #expect(back.endedInfo == nil)
    }

    @Test("a stream that has ended does not reconnect") func ended() {
        let lifecycle = StreamLifecycle(.publisher)
        lifecycle.setReturn { Issue.record("the stream has ended") }
        lifecycle.streamEnded(reason: "censored")
        lifecycle.streamInterrupted()
        #expect(lifecycle.endedInfo?.reason == .censored)
    }
}
