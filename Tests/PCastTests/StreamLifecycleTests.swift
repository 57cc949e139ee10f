import PCastCore
import PCastRTP
import Testing

@testable import PCast

@Suite struct StreamLifecycleTests {
    @Test("the first end counts, and every observer receives it once")
    func firstEnd() async {
        let lifecycle = StreamLifecycle(.viewer)
        let (received, teller) = AsyncStream.makeStream(of: StreamEndedInfo.self)
        lifecycle.whenEnded { teller.yield($0) }
        lifecycle.streamEnded(reason: "censored")
        lifecycle.end(StreamEndedInfo(ender: .stop, wire: "ended"))
        lifecycle.sessionStopped()
        #expect(await lifecycle.ended.reason == .censored)
        lifecycle.whenEnded { _ in teller.finish() }
        var all: [StreamEndedInfo] = []
        for await info in received.prefix(1) { all.append(info) }
        #expect(all == [StreamEndedInfo(ender: .platform, reason: .censored, reasonDescription: "censored")])
    }

    @Test("a custom reason of the application keeps its text")
    func customReason() {
        let info = StreamEndedInfo(ender: .stop, wire: "I-am-done-publishing")
        #expect(info.reason == .custom)
        #expect(info.reasonDescription == "I-am-done-publishing")
    }

    @Test("the platform receives the end before the observers and before end() returns")
    func platformReceivesEndFirst() async {
        let lifecycle = StreamLifecycle(.viewer)
        let asked = Promise<StreamEndedReason>()
        let known = Promise<Bool>()
        let order = EventBroadcaster<Bool?>()
        var received = order.listen().makeAsyncIterator()
        lifecycle.setEndNotifier { info in
            asked.resolve(info.reason)
            return known
        }
        lifecycle.whenEnded { _ in order.send(known.value) }
        lifecycle.end(StreamEndedInfo(ender: .source, wire: "ended"))
        #expect(asked.value == .ended)
        known.resolve(true)
        #expect(await received.next() == true)
    }

    @Test(
        "silence is no data until packets arrive, with the reason of a link that was limited before",
        arguments: [
            (DataQuality(status: .audioOnly, reason: .publisherLimited), DataQuality.Reason.none),
            (DataQuality(status: .audioOnly, reason: .downloadLimited), .downloadLimited),
        ])
    func silence(limited: DataQuality, reason: DataQuality.Reason) async {
        let lifecycle = StreamLifecycle(.viewer)
        var changes = lifecycle.qualities.listen().makeAsyncIterator()
        lifecycle.dataQualityChanged(limited)
        lifecycle.dataQualityChanged(limited)
        lifecycle.follow(.away)
        #expect(lifecycle.dataQuality == DataQuality(status: .noData, reason: reason))
        lifecycle.follow(.back)
        #expect(lifecycle.dataQuality == limited)
        #expect(await changes.next() == limited)
        #expect(await changes.next() == DataQuality(status: .noData, reason: reason))
        #expect(await changes.next() == limited)
    }
}
