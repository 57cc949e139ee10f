import Logging
import PCastCore
import PCastIO
import PCastTimeline
import PCastWebRTC
import Testing

@testable import PCastPlatform
@testable import PCastSFU

/// The cost of requests if there is much data.
@Suite("Costs of requests") struct CostTests {
    @Test("a timeline is encoded once for all readers until it changes") func timeline() async throws {
        let channel = TimelineChannel(TimelineLogID("log"))
        let game = try TimelineGame(league: "NHL", game: "1")
        for number in 0..<200 {
            let event = try GameEvent(parsing: Array(#"{"custom":\#(number)}"#.utf8))
            _ = try await channel.record(TimelineRequest(.put(try TimelineEventID("e\(number)"), event)))
        }
        let first = await channel.document(of: game)
        for _ in 0..<100 { #expect(await channel.document(of: game) == first) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { #expect(await channel.document(of: game) == first) } }
            try await group.waitForAll()
        }
        #expect(channel.documentsMade == 1)
        let event = try GameEvent(parsing: Array("{}".utf8))
        _ = try await channel.record(TimelineRequest(.put(try TimelineEventID("new"), event)))
        let second = await channel.document(of: game)
        #expect(second != first && channel.documentsMade == 2)
    }

    @Test("5,000 streams with 20,000 viewers are listed and counted quickly") func streams() async throws {
        let application = ApplicationID("first")
        let authenticator = TokenAuthenticator([], allowsAnonymousLoopback: true)
        let router = try MediaRouter(
            listen: [TransportAddress(ip: .loopbackV4, port: 0)],
            addresses: AdvertisedAddresses(named: [.loopbackV4], discovered: [], listen: .loopbackV4),
            certificate: .generate(at: MonotonicClock.wallTime()), maximumPeers: 10, shards: 1)
        defer { router.stop() }
        let statistics = PlatformStatistics()
        let admission = Admission()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let kept = try await PlatformRecords.open(StorageConfiguration(), [], statistics, logger)
        let directory = StreamDirectory(
            router: router, authenticator: authenticator, writeQueue: kept.writeQueue, admission: admission,
            statistics: statistics,
            logger: logger)
        try await directory.fill(application, streams: 5_000, viewers: 20_000)
        var best = TimeSpan.seconds(60)
        for _ in 0..<3 {
            let start = MonotonicClock.now()
            let list = await directory.list(application)
            #expect(list.count == 5_000 && list.allSatisfy { $0.viewers == 4 })
            _ = await directory.counts
            _ = await directory.countsOfApplications
            best = min(best, MonotonicClock.now() - start)
        }
        #expect(best < .milliseconds(250), "\(best)")
        await directory.leave(application, viewers: 10_000)
        let left = await directory.counts
        #expect(left.viewers == 10_000)
        #expect(await directory.countsOfApplications[application]?.viewers == 10_000)
        #expect(await directory.list(application).reduce(0) { $0 + $1.viewers } == 10_000)
    }
}

extension StreamDirectory {
    fileprivate func fill(_ application: ApplicationID, streams count: Int, viewers: Int) throws {
        for number in 0..<count {
            let id = StreamID("stream-\(number)")
            let peer = enter(
                id, try admission.seat(.preview, of: application, from: nil), origin: id, isPublisher: true,
                onEnd: { _ in }, onQuality: { _, _ in })
            streams[id] = LiveStream(
                id: id, peer: peer, application: application, session: nil,
                tags: StreamTags(recorded: [], publisher: nil), capabilities: [],
                startTime: MonotonicClock.wallTime(), address: nil, ordinal: number, publisher: nil)
        }
        for number in 0..<viewers {
            _ = enter(
                StreamID("view-\(number)"), try admission.seat(.preview, of: application, from: nil),
                origin: StreamID("stream-\(number % count)"), isPublisher: false, onEnd: { _ in },
                onQuality: { _, _ in })
        }
    }

    fileprivate func leave(_ application: ApplicationID, viewers: Int) {
        for number in 0..<viewers {
            if let peer = peers[StreamID("view-\(number)")] { forget(peer) }
        }
    }
}
