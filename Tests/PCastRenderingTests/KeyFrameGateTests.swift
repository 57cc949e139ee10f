import PCastCore
import Testing

@testable import PCastRendering

@Suite("No frame is decoded between a gap and the next key frame")
struct KeyFrameGateTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    private func frame(isKey: Bool) -> EncodedFrame {
        EncodedFrame(
            codec: .h264, bytes: [], isKeyFrame: isKey, timestamp: MediaTime(ticks: 0, rate: .video), captureTime: nil)
    }

    @Test("the gate opens at a key frame and closes at a gap")
    func opensAtKeyFrameAndClosesAtGap() {
        var gate = KeyFrameGate()
        #expect(gate.admits(frame(isKey: false)) == false)
        #expect(gate.admits(frame(isKey: true)) == true)
        #expect(gate.admits(frame(isKey: false)) == true)
        gate.close()
        #expect(gate.admits(frame(isKey: false)) == false)
        #expect(gate.admits(frame(isKey: true)) == true)
    }

    @Test("the publisher receives a request at once, and again every 300 ms until a key frame arrives")
    func requests() {
        var gate = KeyFrameGate()
        #expect(gate.asks(at: start) == true)
        #expect(gate.asks(at: start + .milliseconds(299)) == false)
        #expect(gate.asks(at: start + .milliseconds(300)) == true)
        _ = gate.admits(frame(isKey: true))
        #expect(gate.asks(at: start + .seconds(5)) == false)
        gate.close()
        #expect(gate.asks(at: start + .seconds(5)) == true)
    }
}
