import PCastCore
import PCastWebRTC
import Testing

struct ConnectionKeyFrameRequestTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let roundTrip = TimeSpan.milliseconds(40)

    private func at(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

    @Test("several requests for a key frame cause one message")
    func mergesRequests() {
        var request = KeyFrameRequester()
        #expect(request.deadline(roundTrip: roundTrip) == nil)
        for _ in 0..<10 { request.request() }
        let isSent1 = request.poll(roundTrip: roundTrip, at: start)
        #expect(isSent1)
        request.request()
        let isSent2 = request.poll(roundTrip: roundTrip, at: start)
        #expect(!isSent2)
        #expect(request.sentCount == 1)
    }

    @Test("a request is repeated after a round trip and 150 ms until the key frame arrives")
    func repeatsRequest() {
        var request = KeyFrameRequester()
        request.request()
        let isSent3 = request.poll(roundTrip: roundTrip, at: start)
        #expect(isSent3)
        #expect(request.deadline(roundTrip: roundTrip) == at(190))
        let isSent4 = request.poll(roundTrip: roundTrip, at: at(189))
        #expect(!isSent4)
        let isSent5 = request.poll(roundTrip: roundTrip, at: at(190))
        #expect(isSent5)
        request.received(roundTrip: roundTrip, at: at(200))
        #expect(request.deadline(roundTrip: roundTrip) == nil)
        #expect(!request.isWanted && request.sentCount == 2)
    }

    @Test("the next request waits until 400 ms after a key frame")
    func spacing() {
        var request = KeyFrameRequester()
        request.received(roundTrip: roundTrip, at: start)
        request.request()
        #expect(request.deadline(roundTrip: roundTrip) == at(400))
        let isSent6 = request.poll(roundTrip: roundTrip, at: at(399))
        #expect(!isSent6)
        let isSent7 = request.poll(roundTrip: roundTrip, at: at(400))
        #expect(isSent7)
    }

    @Test("after twenty requests the source is not asked again until a new request")
    func givesUp() {
        var request = KeyFrameRequester()
        request.request()
        var sent = 0
        for second in 0..<100 where request.poll(roundTrip: roundTrip, at: at(Int64(second) * 1000)) { sent += 1 }
        #expect(sent == KeyFrameRequester.maximumAttempts)
        #expect(request.deadline(roundTrip: roundTrip) == nil)
        request.request()
        let isSent8 = request.poll(roundTrip: roundTrip, at: at(200_000))
        #expect(isSent8)
    }

    @Test("a source with late key frames leaves requests unanswered, until one comes in time")
    func unanswered() {
        var request = KeyFrameRequester()
        func ask(_ milliseconds: Int64) -> Bool { request.poll(roundTrip: roundTrip, at: at(milliseconds)) }
        func isUnanswered(_ milliseconds: Int64) -> Bool {
            request.isUnanswered(roundTrip: roundTrip, at: at(milliseconds))
        }
        request.request()
        #expect(ask(0) && ask(190))
        #expect(!isUnanswered(340) && isUnanswered(341))
        // The next key frame comes by itself, and is no answer.
        request.received(roundTrip: roundTrip, at: at(2_000))
        #expect(request.ignoresRequests && isUnanswered(2_000))
        // It is requested twice for a viewer with an old key frame, at most once per second, because the answer may be
        // late.
        request.requestTentatively()
        #expect(ask(2_500) && ask(2_690) && !ask(3_690))
        request.requestTentatively()
        #expect(ask(3_690))
        request.requestTentatively()
        #expect(ask(3_880) && !ask(4_070))
        request.requestTentatively()
        #expect(!ask(4_879) && ask(4_880))
        // A viewer without a key frame has it requested as often as usual.
        request.request()
        #expect(ask(4_890) && ask(5_080) && ask(5_270) && ask(5_460))
        request.received(roundTrip: roundTrip, at: at(5_500))
        #expect(request.ignoresRequests)
        request.requestTentatively()
        #expect(!ask(6_459) && ask(6_460))
        request.received(roundTrip: roundTrip, at: at(6_800))
        #expect(!request.ignoresRequests && !isUnanswered(20_000))
        // A key frame without a request has no meaning.
        request.received(roundTrip: roundTrip, at: at(30_000))
        #expect(!request.ignoresRequests)
    }

    @Test("the round trip at the key frame's arrival decides whether it is an answer")
    func farSource() {
        var request = KeyFrameRequester()
        request.request()
        let isSent = request.poll(roundTrip: .milliseconds(50), at: start)
        #expect(isSent)
        request.received(roundTrip: .milliseconds(400), at: at(650))
        #expect(!request.ignoresRequests)
    }

    @Test("a source that ignores twenty requests leaves requests unanswered")
    func neverGranted() {
        var request = KeyFrameRequester()
        request.request()
        for second in 0..<100 { _ = request.poll(roundTrip: roundTrip, at: at(Int64(second) * 1000)) }
        request.request()
        #expect(request.isUnanswered(roundTrip: roundTrip, at: at(200_000)))
    }
}
