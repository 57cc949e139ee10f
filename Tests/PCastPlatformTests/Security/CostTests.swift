import CDispatch
import Dispatch
import Glibc
import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
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

    @Test("5,000 streams of 20,000 viewers are listed and counted like 5,000 that nobody watches")
    func streams() async throws {
        let application = ApplicationID("first")
        let router = try mediaRouter()
        defer { router.stop() }
        let unwatched = try await directory(router)
        try await unwatched.fill(application, streams: 5_000, viewers: 0)
        let directory = try await directory(router)
        try await directory.fill(application, streams: 5_000, viewers: 20_000)
        // The time of the thread's processor excludes that of other threads. Whoever looks at each viewer of each stream
        // needs thousands of times as long.
        var least = (unwatched: TimeSpan.seconds(60), watched: TimeSpan.seconds(60))
        for _ in 0..<8 {
            least.unwatched = min(least.unwatched, await unwatched.timeOfList(application, viewersOfEach: 0))
            least.watched = min(least.watched, await directory.timeOfList(application, viewersOfEach: 4))
        }
        #expect(least.watched < least.unwatched * 8, "\(least)")
        await directory.leave(application, viewers: 10_000)
        let left = await directory.counts
        #expect(left.viewers == 10_000)
        #expect(await directory.countsOfApplications[application]?.viewers == 10_000)
        #expect(await directory.list(application).reduce(0) { $0 + $1.viewers } == 10_000)
    }

    @Test("each stream knows its subscribers, so that nothing has to search for them among those of other streams")
    func subscribers() async throws {
        let application = ApplicationID("first")
        let router = try mediaRouter()
        defer { router.stop() }
        let directory = try await directory(router)
        try await directory.fill(application, streams: 5, viewers: 20)
        var subscribers = await directory.subscribers
        #expect(subscribers.count == 5 && subscribers.values.allSatisfy { $0.count == 4 })
        #expect(await directory.endRecorded(StreamID("stream-0")))
        let ending = await directory.originsOfEnding
        #expect(ending.count == 5 && ending.allSatisfy { $0 == StreamID("stream-0") })
        await directory.leave(application, viewers: 10)
        subscribers = await directory.subscribers
        #expect(subscribers.count == 5 && subscribers.values.allSatisfy { $0.count == 2 })
        await directory.leave(application, viewers: 20)
        #expect(await directory.subscribers.isEmpty)
    }

    @Test("a viewer that names no stream is assigned the newest of 10,000 streams as fast as the newest of ten")
    func unnamedStreams() async throws {
        let application = ApplicationID("first")
        let router = try mediaRouter()
        defer { router.stop() }
        let few = try await directory(router)
        try await few.fill(application, streams: 10, viewers: 0)
        let many = try await directory(router)
        try await many.fill(application, streams: 10_000, viewers: 0)
        // A search through all streams takes hundreds of times as long. The least of several times is not that of a
        // busy machine.
        var least = (few: TimeSpan.seconds(60), many: TimeSpan.seconds(60))
        for _ in 0..<8 {
            least.few = min(least.few, try await few.timeOfFinding("stream-9", in: application))
            least.many = min(least.many, try await many.timeOfFinding("stream-9999", in: application))
        }
        #expect(least.many < least.few * 50, "\(least)")
        await few.change("stream-9") { $0.isAwaitingAnswer = true }
        #expect(try await few.newest(in: application) == StreamID("stream-8"))
        await few.leave("stream-8")
        #expect(try await few.newest(in: application) == StreamID("stream-7"))
        await few.change("stream-9") { $0.isAwaitingAnswer = false }
        #expect(try await few.newest(in: application) == StreamID("stream-9"))
        for number in 0..<10_000 { await many.leave("stream-\(number)") }
        #expect(await many.keyCounts == [0, 0])
    }

    @Test(
        "look-ups of hosts that block count towards the limit of jobs, and further requests are answered meanwhile",
        .timeLimit(.minutes(5)))
    func blockedLookUps() async throws {
        let router = try mediaRouter()
        defer { router.stop() }
        let gate = DispatchSemaphore(value: 0)
        let (lookUps, started) = AsyncStream.makeStream(of: Void.self)
        let host = try #require(IPAddress("9.9.9.9"))
        // The address counts as one of this host, so that it is rejected and no job is started.
        let policy = JobPolicy(
            configuration: JobConfiguration(program: "/bin/false", arguments: [], limit: 2), listen: .loopbackV4,
            ownAddresses: {
                started.yield()
                gate.wait()
                return [host]
            })
        let authenticator = TokenAuthenticator([TestPlatform.application], allowsAnonymousLoopback: false)
        let supervisor = JobSupervisor(
            policy, authenticator: authenticator, directory: try await directory(router), registry: SessionRegistry(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await supervisor.listens(at: "ws://127.0.0.1:1")
        let clientContext = ClientContext(RequestOrigin(address: .loopbackV4), host: "127.0.0.1", origin: nil)
        let token = try Tokens.make { $0.forPublishingOnly().withCapability("publish-uri") }
        var message = PCastCreateStream()
        message.connectUri = "http://\(host)/film.mp4"
        let request = JobRequest(
            message: message, principal: try authenticator.identify(token, clientContext: clientContext),
            clientContext: clientContext, session: SessionID("session"))
        let refusal: @Sendable () async -> APIError.Kind? = {
            do throws(APIError) {
                _ = try await supervisor.start(request)
                return nil
            } catch {
                return error.kind
            }
        }
        let blocked = (0..<2).map { _ in Task { await refusal() } }
        var iterator = lookUps.makeAsyncIterator()
        for _ in blocked { _ = await iterator.next() }
        #expect(await refusal() == .capacity)
        for _ in blocked { gate.signal() }
        for task in blocked { #expect(await task.value == .badRequest) }
        gate.signal()
        #expect(await refusal() == .badRequest)
    }

    private func mediaRouter() throws -> MediaRouter {
        try MediaRouter(
            listen: [TransportAddress(ip: .loopbackV4, port: 0)],
            addresses: AdvertisedAddresses(named: [.loopbackV4], discovered: [], listen: .loopbackV4),
            certificate: .generate(at: MonotonicClock.wallTime()), maximumPeers: 10, shards: 1)
    }

    private func directory(_ router: MediaRouter) async throws -> StreamDirectory {
        let statistics = PlatformStatistics()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let kept = try await PlatformRecords.open(StorageConfiguration(), [], statistics, logger)
        return StreamDirectory(
            router: router, authenticator: TokenAuthenticator([], allowsAnonymousLoopback: true),
            writeQueue: kept.writeQueue, limiter: RequestLimiter(), statistics: statistics, logger: logger)
    }
}

extension StreamDirectory {
    fileprivate func fill(_ application: ApplicationID, streams count: Int, viewers: Int) throws {
        let limiter = RequestLimiter()
        for number in 0..<count {
            let id = StreamID("stream-\(number)")
            let peer = registry.enter(
                id, try limiter.reserve(.preview, of: application, from: nil), origin: id, isPublisher: true,
                at: MonotonicClock.now(), onEnd: { _ in }, onQuality: { _, _ in })
            registry.add(
                LiveStream(
                    id: id, peer: peer, application: application, session: nil,
                    tags: StreamTags(recorded: [], publisher: nil), capabilities: [],
                    startTime: MonotonicClock.wallTime(), address: nil, ordinal: number, publisher: nil))
        }
        for number in 0..<viewers {
            _ = registry.enter(
                StreamID("view-\(number)"), try limiter.reserve(.preview, of: application, from: nil),
                origin: StreamID("stream-\(number % count)"), isPublisher: false, at: MonotonicClock.now(),
                onEnd: { _ in }, onQuality: { _, _ in })
        }
    }

    /// Lists and counts the streams of an application. Returns the processor time of that.
    fileprivate func timeOfList(_ application: ApplicationID, viewersOfEach viewers: Int) -> TimeSpan {
        let start = Self.threadTime()
        let list = list(application)
        _ = (counts, countsOfApplications)
        let time = Self.threadTime() - start
        #expect(list.count == 5_000 && list.allSatisfy { $0.viewers == viewers })
        return time
    }

    /// Returns the stream that a viewer receives who names none.
    fileprivate func newest(in application: ApplicationID) throws -> StreamID {
        try policy.find(
            nil, in: registry, for: Principal(application: application, token: nil),
            clientContext: ClientContext(RequestOrigin(address: .loopbackV4), host: "127.0.0.1", origin: nil)
        ).id
    }

    /// Finds the newest stream of an application 100 times; returns how long that took.
    fileprivate func timeOfFinding(_ id: String, in application: ApplicationID) throws -> TimeSpan {
        let start = Self.threadTime()
        let found = try (0..<100).map { _ in try newest(in: application) }
        let time = Self.threadTime() - start
        #expect(found.allSatisfy { $0 == StreamID(id) })
        return time
    }

    fileprivate func change(_ id: String, _ change: @Sendable (inout LiveStream) -> Void) {
        registry.update(StreamID(id), change)
    }

    fileprivate func leave(_ id: String) {
        if let peer = registry.peers[StreamID(id)] { discard(peer) }
    }

    /// Returns the processor time of this thread.
    private static func threadTime() -> TimeSpan {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return TimeSpan(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Ends a stream whose end is in the database already. No task writes the queue of this test.
    fileprivate func endRecorded(_ id: StreamID) async -> Bool {
        registry.update(id) { $0.isEndRecorded = true }
        return await end(id, reason: .maintenance, description: "")
    }

    /// The stream of each participant whose end has a reason.
    fileprivate var originsOfEnding: [StreamID] {
        registry.participants.values.filter { $0.ending != nil }.map(\.origin)
    }

    /// The subscribers of each stream that has any.
    fileprivate var subscribers: [StreamID: Set<PeerID>] { registry.subscribers }

    /// The numbers of keys by which streams are found.
    fileprivate var keyCounts: [Int] {
        [registry.subscribableStreams.keyCount, registry.resumableStreams.keyCount]
    }

    fileprivate func leave(_ application: ApplicationID, viewers: Int) {
        for number in 0..<viewers {
            if let peer = registry.peers[StreamID("view-\(number)")] { discard(peer) }
        }
    }
}
