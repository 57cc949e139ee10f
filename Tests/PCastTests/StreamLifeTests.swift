import PCastMedia
import Testing

@testable import PCast

@Suite struct StreamLifeTests {
    @Test func theFirstEndCountsAndEveryoneIsToldOnce() async {
        let life = StreamLife()
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

    @Test func aReasonOfTheApplicationsOwnKeepsItsWords() {
        let info = StreamEndedInfo(ender: .stop, wire: "I-am-done-publishing")
        #expect(info.reason == .custom)
        #expect(info.reasonDescription == "I-am-done-publishing")
    }

    @Test func thePlatformIsToldBeforeEndReturns() {
        let life = StreamLife()
        let said = Once<StreamEndedReason>()
        life.setFarewell { said.settle($0.reason) }
        life.end(StreamEndedInfo(ender: .source, wire: "ended"))
        #expect(said.value == .ended)
    }

    @Test func silenceIsNoDataUntilSomethingIsHeardAgain() async {
        let life = StreamLife()
        var changes = life.qualities.listen().makeAsyncIterator()
        let limited = DataQuality(status: .audioOnly, reason: .downloadLimited)
        life.dataQualityChanged(limited)
        life.dataQualityChanged(limited)
        life.follow(.away)
        #expect(life.dataQuality == DataQuality(status: .noData, reason: .none))
        life.follow(.back)
        #expect(life.dataQuality == limited)
        #expect(await changes.next() == limited)
        #expect(await changes.next() == DataQuality(status: .noData, reason: .none))
        #expect(await changes.next() == limited)
    }
}
