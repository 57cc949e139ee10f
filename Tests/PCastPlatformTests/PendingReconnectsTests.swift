import PCastCore
import PCastDatabase
import Testing

@testable import PCastPlatform

/// The streams and sessions that may reconnect, and for how long, on virtual time.
@Suite struct PendingReconnectsTests {
    private let application = ApplicationID("first")

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func stream(_ id: String, until deadline: Instant, ordinal: Int = 0, tags: [String] = [])
        -> PendingReconnects.Stream
    {
        let record = StreamRecord(
            id: StreamID(id), application: application, session: nil, tags: tags, capabilities: [],
            starting: WallTime(millisecondsSinceEpoch: 0),
            publisher: tags.isEmpty ? nil : "tags " + tags.joined(separator: "\n"))
        return .init(
            live: LiveStream(record, ordinal: ordinal), onEnd: { _ in },
            lastSeen: WallTime(millisecondsSinceEpoch: 0), deadline: deadline)
    }

    private func viewing(_ id: String, of origin: String, until deadline: Instant) -> PendingReconnects.Viewing {
        .init(
            id: StreamID(id), origin: StreamID(origin), application: application, session: SessionID("session"),
            onEnd: { _ in }, lastSeen: WallTime(millisecondsSinceEpoch: 0), deadline: deadline)
    }

    @Test("a stream that does not reconnect in time ends with its viewers") func overdue() {
        var awaited = PendingReconnects()
        awaited.add(stream("a", until: at(15)))
        awaited.add(stream("b", until: at(20)))
        awaited.add(viewing("a1", of: "a", until: at(18)))
        awaited.add(viewing("b1", of: "b", until: at(15)))
        #expect(awaited.takeOverdue(at: at(14)).streams.isEmpty)
        let overdue = awaited.takeOverdue(at: at(15))
        #expect(overdue.streams.map(\.live.id.description) == ["a"])
        #expect(Set(overdue.viewings.map(\.id.description)) == ["a1", "b1"])
        #expect(awaited.takeOverdue(at: at(19)).streams.isEmpty)
        #expect(awaited.takeOverdue(at: at(20)).streams.count == 1)
        #expect(awaited.isEmpty)
    }

    @Test("a stream that reconnected is not awaited any more") func returned() {
        var awaited = PendingReconnects()
        awaited.add(stream("a", until: at(15)))
        awaited.add(viewing("a1", of: "a", until: at(15)))
        #expect(awaited.take(stream: StreamID("a")) != nil)
        #expect(awaited.take(stream: StreamID("a")) == nil)
        #expect(awaited.take(viewing: StreamID("a1"))?.origin == StreamID("a"))
        #expect(awaited.takeOverdue(at: at(100)).viewings.isEmpty)
    }

    @Test("a viewer without a stream ID waits for the newest stream of its tag") func newest() {
        var awaited = PendingReconnects()
        awaited.add(stream("a", until: at(15), ordinal: 1, tags: ["red"]))
        awaited.add(stream("b", until: at(15), ordinal: 2, tags: ["red"]))
        awaited.add(stream("c", until: at(15), ordinal: 3))
        #expect(awaited.newest(.tag(application, "red"))?.id == StreamID("b"))
        #expect(awaited.newest(.application(application))?.id == StreamID("c"))
        #expect(awaited.newest(.application(ApplicationID("second"))) == nil)
        _ = awaited.take(stream: StreamID("b"))
        #expect(awaited.newest(.tag(application, "red"))?.id == StreamID("a"))
    }

    @Test(
        "the options of CreateStream that request an earlier stream",
        arguments: [
            (["data-quality-notifications"], nil),
            (["resume-stream=stream-1"], ResumeRequest.stream(StreamID("stream-1"))),
            (["data-quality-notifications", "resume"], ResumeRequest.former),
        ] as [([String], ResumeRequest?)]) func options(_ options: [String], _ asked: ResumeRequest?)
    {
        #expect(ResumeRequest(options: options) == asked)
    }
}

/// Absent sessions in the order of their absence.
@Suite struct AbsentSessionsTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("the session that has been absent for longest is first, and returned ones are not listed") func order() {
        var absent = DisconnectedSessions()
        for (second, id) in ["a", "b", "c"].enumerated() { absent.left(SessionID(id), at: at(Int64(second))) }
        absent.returned(SessionID("a"))
        absent.left(SessionID("a"), at: at(3))
        #expect(absent.count == 3)
        #expect(absent.popFirst(disconnectedBy: at(0)) == nil)
        #expect(absent.popFirst(disconnectedBy: at(2)) == SessionID("b"))
        #expect(absent.popFirst(disconnectedBy: at(2)) == SessionID("c"))
        #expect(absent.popFirst(disconnectedBy: at(2)) == nil)
        #expect(absent.popFirst() == SessionID("a"))
        #expect(absent.count == 0)
    }

    @Test("the list holds no more than the absent sessions, however often they change") func bounded() {
        var absent = DisconnectedSessions()
        for round in 0..<10_000 {
            for id in ["a", "b", "c"] { absent.left(SessionID(id), at: at(Int64(round))) }
            for id in ["a", "b"] { absent.returned(SessionID(id)) }
        }
        #expect(absent.count == 1)
        #expect(absent.storedCount < 100)
        #expect(absent.popFirst() == SessionID("c"))
    }
}

/// The memory of streams that have ended.
@Suite struct EndedStreamsTests {
    @Test("the newest streams of their application are known") func newest() {
        let (own, other) = (ApplicationID("first"), ApplicationID("second"))
        var ended = EndedStreams()
        for number in 0...EndedStreams.capacity { ended.insert(StreamID("s\(number)"), of: own) }
        #expect(!ended.contains(StreamID("s0"), of: own))
        #expect((1...EndedStreams.capacity).allSatisfy { ended.contains(StreamID("s\($0)"), of: own) })
        ended.insert(StreamID("s0"), of: own)
        ended.insert(StreamID("s0"), of: own)
        let missing = (0...EndedStreams.capacity).filter { !ended.contains(StreamID("s\($0)"), of: own) }
        #expect(missing == [1])
        #expect(!ended.contains(StreamID("s0"), of: other))
        #expect(!ended.contains(StreamID("none"), of: own))
    }
}
