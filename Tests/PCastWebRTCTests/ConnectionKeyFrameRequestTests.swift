import PCastCore
import PCastWebRTC
import Testing

struct ConnectionKeyFrameRequestTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let roundTrip = TimeSpan.milliseconds(40)

    private func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

    @Test("KEY1: however many want one, one request is sent")
    func key1() {
        var request = KeyFrameRequester()
        #expect(request.deadline(roundTrip: roundTrip) == nil)
        for _ in 0..<10 { request.want() }
        let isSent1 = request.poll(roundTrip: roundTrip, at: start)
        #expect(isSent1)
        request.want()
        let isSent2 = request.poll(roundTrip: roundTrip, at: start)
        #expect(!isSent2)
        #expect(request.sentCount == 1)
    }

    @Test("KEY4: it is repeated after a round trip and 150 ms, until the key frame comes")
    func key4() {
        var request = KeyFrameRequester()
        request.want()
        let isSent3 = request.poll(roundTrip: roundTrip, at: start)
        #expect(isSent3)
        #expect(request.deadline(roundTrip: roundTrip) == at(190))
        let isSent4 = request.poll(roundTrip: roundTrip, at: at(189))
        #expect(!isSent4)
        let isSent5 = request.poll(roundTrip: roundTrip, at: at(190))
        #expect(isSent5)
        request.received(at: at(200))
        #expect(request.deadline(roundTrip: roundTrip) == nil)
        #expect(!request.isWanted && request.sentCount == 2)
    }

    @Test("KEY1: the next request waits 400 ms after a key frame")
    func spacing() {
        var request = KeyFrameRequester()
        request.received(at: start)
        request.want()
        #expect(request.deadline(roundTrip: roundTrip) == at(400))
        let isSent6 = request.poll(roundTrip: roundTrip, at: at(399))
        #expect(!isSent6)
        let isSent7 = request.poll(roundTrip: roundTrip, at: at(400))
        #expect(isSent7)
    }

    @Test("KEY4: after twenty requests the source is left alone, until somebody wants one anew")
    func givesUp() {
        var request = KeyFrameRequester()
        request.want()
        var sent = 0
        for second in 0..<100 where request.poll(roundTrip: roundTrip, at: at(Int64(second) * 1000)) { sent += 1 }
        #expect(sent == KeyFrameRequester.maximumAttempts)
        #expect(request.deadline(roundTrip: roundTrip) == nil)
        request.want()
        let isSent8 = request.poll(roundTrip: roundTrip, at: at(200_000))
        #expect(isSent8)
    }
}
