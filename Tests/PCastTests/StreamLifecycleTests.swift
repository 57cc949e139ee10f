import PCastCore
import PCastRTP
import Testing

@testable import PCast

@Suite struct StreamLifecycleTests {
    @Test("the first end counts, and every observer receives it once")
    func firstEnd() async {
        let life = StreamLifecycle(.viewer)
        let (told, teller) = AsyncStream.makeStream(of: StreamEndedInfo.self)
        life.whenEnded { teller.yield($0) }
        life.streamEnded(reason: "censored")
        life.end(StreamEndedInfo(ender: .stop, wire: "ended"))
        life.sessionStopped()
        #expect(await life.ended.reason == .censored)
        life.whenEnded { _ in teller.finish() }
        var all: [StreamEndedInfo] = []
        for await info in told.prefix(1) { all.append(info) }
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
        let life = StreamLifecycle(.viewer)
        let asked = Promise<StreamEndedReason>()
        let known = Promise<Bool>()
        let order = Broadcast<Bool?>()
        var told = order.listen().makeAsyncIterator()
        life.setFarewell { info in
            asked.resolve(info.reason)
            return known
        }
        life.whenEnded { _ in order.send(known.value) }
        life.end(StreamEndedInfo(ender: .source, wire: "ended"))
        #expect(asked.value == .ended)
        known.resolve(true)
        #expect(await told.next() == true)
    }

    @Test(
        "silence is no data until packets arrive, with the reason of a link that was limited before",
        arguments: [
            (DataQuality(status: .audioOnly, reason: .publisherLimited), DataQuality.Reason.none),
            (DataQuality(status: .audioOnly, reason: .downloadLimited), .downloadLimited),
        ])
    func silence(limited: DataQuality, reason: DataQuality.Reason) async {
        let life = StreamLifecycle(.viewer)
        var changes = life.qualities.listen().makeAsyncIterator()
        life.dataQualityChanged(limited)
        life.dataQualityChanged(limited)
        life.follow(.away)
        #expect(life.dataQuality == DataQuality(status: .noData, reason: reason))
        life.follow(.back)
        #expect(life.dataQuality == limited)
        #expect(await changes.next() == limited)
        #expect(await changes.next() == DataQuality(status: .noData, reason: reason))
        #expect(await changes.next() == limited)
    }
}
