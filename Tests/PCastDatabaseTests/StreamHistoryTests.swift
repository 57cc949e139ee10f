import Foundation
import PCastCore
import Testing

@testable import PCastDatabase

@Suite struct StreamHistoryTests {
    private typealias Selection = Records.StreamSelection

    @Test("a stream's publisher, tags, times, reason and viewers are stored") func life() async throws {
        try await withDirectory { path in
            do {
                let records = try Records.open(path)
                try await records.record(Sample.life("one", reason: "my reason"))
            }
            let records = try Records.open(path)
            let found = try #require(try await records.stream(StreamID("one"), of: Sample.application))
            #expect(found.session == SessionID("session-1"))
            #expect(found.tags == ["live", "red"])
            #expect(found.capabilities == ["real-time"])
            #expect([found.starting, found.started, found.ended] == [Sample.time, Sample.after(1), Sample.after(61)])
            #expect(found.duration == .seconds(60))
            #expect(found.reason == "my reason")
            #expect(found.counts == ViewerCounts(views: 3, mostViewers: 2))
            #expect(try await records.stream(StreamID("one"), of: ApplicationID("other")) == nil)
        }
    }

    @Test("a repeated write changes nothing, and the first reported end is kept") func again()
        async throws
    {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        try await records.record(Sample.life("one", reason: "censored"))
        let before = try await records.stream(StreamID("one"), of: Sample.application)
        try await records.record(Sample.life("one", reason: "failed"))
        try await records.record([.streamStarted(StreamID("one"), at: Sample.after(99))])
        #expect(try await records.stream(StreamID("one"), of: Sample.application) == before)
        #expect(try await records.notifications(of: Sample.application, limit: 10).count == 3)
    }

    @Test("a long list has pages, and filters for the state and time of the end") func pages() async throws {
        let records = try Records.inMemory()
        for number in 0..<7 { try await records.record(Sample.life("s\(number)")) }
        try await records.record([.streamStarting(Sample.stream("live", at: Sample.after(1_000)))])
        var seen: [String] = []
        var next: Int64? = 0
        while let after = next {
            let page = try await records.streams(Selection(Sample.application), after: after, limit: 3)
            seen += page.elements.map(\.id.description)
            next = page.next
        }
        #expect(seen == (0..<7).map { "s\($0)" } + ["live"])
        let ids = { (selection: Selection) async throws in
            try await records.streams(selection, limit: 100).elements.map(\.id.description)
        }
        #expect(try await ids(Selection(Sample.application, hasEnded: false)) == ["live"])
        #expect(try await ids(Selection(Sample.application, hasEnded: true)).count == 7)
        #expect(try await ids(Selection(Sample.application, from: Sample.after(62))) == ["live"])
        #expect(try await ids(Selection(Sample.application, to: Sample.after(62))).count == 7)
        #expect(try await ids(Selection(ApplicationID("other"))).isEmpty)
    }

    @Test("streams that a killed platform left open fail at their last known time, once") func abandoned()
        async throws
    {
        try await withDirectory { path in
            do {
                let records = try Records.open(path)
                try await Sample.callback("a", in: records)
                try await records.record(Sample.life("whole"))
                try await records.record([
                    .streamStarting(Sample.stream("cut")), .streamStarted(StreamID("cut"), at: Sample.after(1)),
                    .streamStarting(Sample.stream("young", at: Sample.after(30))),
                    .viewingBegan(Sample.viewing("v", of: "cut", at: Sample.after(2))),
                    .alive(at: Sample.after(21), [StreamID("cut"): ViewerCounts(views: 5, mostViewers: 4)]),
                ])
            }
            let records = try Records.open(path)
            let seen = try #require(try await records.lastSeen())
            #expect(seen == Sample.after(21))
            #expect(try await records.endAbandoned(at: seen).map(\.description) == ["cut", "young"])
            #expect(try await records.endAbandoned(at: seen).isEmpty)
            let cut = try #require(try await records.stream(StreamID("cut"), of: Sample.application))
            #expect(cut.reason == "failed")
            #expect(cut.duration == .seconds(20))
            #expect(cut.counts == ViewerCounts(views: 5, mostViewers: 4))
            let young = try #require(try await records.stream(StreamID("young"), of: Sample.application))
            #expect(young.ended == Sample.after(30))
            let viewings = try await records.viewings(
                of: Sample.application, from: Sample.time, to: Sample.after(100), limit: 10)
            #expect(viewings.elements.map(\.viewing.reason) == ["failed"])
            #expect(viewings.elements.first?.viewing.tags == ["vip"])
            #expect(viewings.elements.first?.streamTags == ["live", "red"])
            let received = try await records.notifications(of: Sample.application, stream: StreamID("cut"), limit: 10)
            #expect(received.map(\.kind) == [.ended, .started, .starting])
        }
    }

    @Test("streams that can resume after a kill stay open, with their viewers in a session")
    func interrupted() async throws {
        let records = try Records.inMemory()
        var viewing = Sample.viewing("in-a-session", of: "cut", at: Sample.after(2))
        viewing.session = SessionID("viewers")
        var unknownPeer = Sample.viewing("unknown", of: "cut", at: Sample.after(2))
        unknownPeer.session = nil
        try await records.record([
            .streamStarting(Sample.stream("cut")), .streamStarted(StreamID("cut"), at: Sample.after(1)),
            .streamStarting(Sample.stream("young")), .viewingBegan(viewing), .viewingBegan(unknownPeer),
        ])
        let found = try await records.interrupted()
        #expect(found.streams.map(\.id.description) == ["cut"])
        #expect(found.viewings.map(\.id.description) == ["in-a-session"])
        let ended = try await records.endAbandoned(at: Sample.after(9), sparing: [StreamID("cut")])
        #expect(ended.map(\.description) == ["young"])
        let viewings = try await records.viewings(
            of: Sample.application, from: Sample.time, to: Sample.after(100), limit: 10)
        #expect(viewings.elements.map(\.viewing.reason) == [nil, "failed"])
        try await records.record([.streamMoved(StreamID("cut"), to: SessionID("another"))])
        #expect(try await records.interrupted().streams.first?.session == SessionID("another"))
    }

    @Test("old records are deleted, but not pending or open ones") func forgetting() async throws {
        let records = try Records.inMemory()
        try await records.record(Sample.life("untold"))
        try await Sample.callback("a", in: records)
        try await records.record(Sample.life("waiting"))
        try await records.record([.streamStarting(Sample.stream("live"))])
        try await records.discard(before: Sample.after(10_000))
        let left = try await records.streams(Selection(Sample.application), limit: 10)
        #expect(left.elements.map(\.id.description) == ["live"])
        let received = try await records.notifications(of: Sample.application, limit: 10)
        #expect(Set(received.map(\.stream.description)) == ["waiting", "live"])
    }

    @Test("the newest of the ended streams are kept") func keeping() async throws {
        let records = try Records.inMemory()
        for number in 0..<5 {
            let id = StreamID("s\(number)")
            try await records.record([
                .streamStarting(Sample.stream(id.description)),
                .streamEnded(id, at: Sample.after(Int64(number)), reason: "ended", counts: ViewerCounts()),
            ])
        }
        try await records.discard(keeping: 2)
        let left = try await records.streams(Selection(Sample.application), limit: 10)
        #expect(left.elements.map(\.id.description) == ["s3", "s4"])
    }

    @Test("sessions that were open can be resumed") func sessions() async throws {
        let records = try Records.inMemory()
        let one = SessionRecord(id: SessionID("1"), application: Sample.application, opened: Sample.time)
        let two = SessionRecord(id: SessionID("2"), application: Sample.application, opened: Sample.after(1))
        try await records.record([.sessionOpened(one), .sessionOpened(two), .sessionEnded(one.id, at: Sample.after(2))])
        #expect(try await records.openSessions(limit: 10) == [two])
    }
}

/// Runs `body` with a temporary directory, which is deleted afterwards.
func withDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "pcast-records-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// Samples of records.
enum Sample {
    static let application = ApplicationID("studio")
    static let time = WallTime(millisecondsSinceEpoch: 1_795_000_000_000)

    static func after(_ seconds: Int64) -> WallTime { time + .seconds(seconds) }

    static func stream(_ id: String, tags: [String] = ["live", "red"], at time: WallTime = time) -> StreamRecord {
        StreamRecord(
            id: StreamID(id), application: application, session: SessionID("session-1"), tags: tags,
            capabilities: ["real-time"], starting: time)
    }

    static func viewing(_ id: String, of stream: String, at time: WallTime) -> ViewingRecord {
        ViewingRecord(
            id: StreamID(id), stream: StreamID(stream), application: application, session: nil, tags: ["vip"],
            began: time)
    }

    /// Returns the complete life of a stream.
    static func life(_ id: String, reason: String = "ended") -> [RecordChange] {
        [
            .streamStarting(stream(id)), .streamStarted(StreamID(id), at: after(1)),
            .streamEnded(StreamID(id), at: after(61), reason: reason, counts: ViewerCounts(views: 3, mostViewers: 2)),
        ]
    }

    @discardableResult
    static func callback(_ name: String, in records: Records) async throws -> CallbackRecord? {
        try await records.setCallback(
            name, of: application, uri: "https://backend.example/\(name)", method: .post, secret: nil)
    }
}
