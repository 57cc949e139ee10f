import Logging
import PCastCore
import PCastHLS
import PCastJSON
import PCastSFU
import PCastTimeline
import Synchronization
import Testing

@testable import PCastPlatform

@Suite("Events of a timeline are date ranges of the playlists")
struct TimelineDateRangeTests {
    private static let game = "NHL/2354717"

    private static func key() throws -> TimelineKey {
        TimelineKey(application: ApplicationID("first"), game: try TimelineGame(league: "NHL", game: "2354717"))
    }

    private static func put(
        _ id: String, _ json: String, recordedAt: WallTime? = nil
    ) throws -> TimelineRequest {
        TimelineRequest(
            .put(try TimelineEventID(id), try GameEvent(parsing: Array(json.utf8))), recordedAt: recordedAt)
    }

    private static func time(_ seconds: Int64) -> WallTime { WallTime(millisecondsSinceEpoch: seconds * 1_000) }

    /// Returns the attributes of a range by their names.
    private static func attributes(_ range: DateRange) -> [String: String] {
        Dictionary(range.attributes.map { ($0.name, $0.value.text) }, uniquingKeysWith: { first, _ in first })
    }

    /// Collects the ranges that a service reports.
    private final class Collected: Sendable {
        private let all = Mutex<[DateRange]>([])

        var ranges: [DateRange] { all.withLock { $0 } }

        func add(_ revisions: [(revision: TimelineRevision, gate: WallTime)], of game: TimelineGame) {
            let ranges = revisions.compactMap { DateRange($0.revision, gate: $0.gate, of: game) }
            all.withLock { $0 += ranges }
        }
    }

    @Test("each revision of an event is a range of its own, which begins at its gate and has the event's fields")
    func revisions() throws {
        var log = TimelineLog()
        let id = try TimelineEventID("goal-1")
        let text = #"""
            {"timestamp":"1970-01-01T00:01:40Z","type":"goal","teamInvolved":"home","period":"2",
            "description":"A \"Scorer\",\n{$x}","scorecard":{"total":{"home":"1","visitor":"0"}}}
            """#
        let requests = [
            try Self.put("goal-1", text, recordedAt: Self.time(112)),
            TimelineRequest(
                try TimelineRequest.patch(id, parsing: Array(#"{"period":"3"}"#.utf8)), recordedAt: Self.time(120)),
            TimelineRequest(.delete(id), recordedAt: Self.time(130)),
            TimelineRequest(.info(GameInfo()), recordedAt: Self.time(131)),
        ]
        for request in requests {
            if let revision = try log.revision(for: request, at: Self.time(200)) { try log.append(revision) }
        }
        let game = try Self.key().game
        let ranges = log.revisions.compactMap { revision in
            log.gate(of: revision.number).flatMap { DateRange(revision, gate: $0, of: game) }
        }
        // The description of the game is no event.
        #expect(ranges.map(\.id) == ["1", "2", "3"].map { "\(Self.game)/\($0)" })
        #expect(ranges.allSatisfy { $0.classID == DateRange.timelineClass })
        // A late event begins at its own time, and a correction at its recording.
        #expect(ranges.map(\.start) == [100, 120, 130].map { Self.time($0) })
        #expect(
            Self.attributes(ranges[0]) == [
                "X-PCAST-CHANGE": "added", "X-PCAST-DESCRIPTION": "A 'Scorer', ($x)", "X-PCAST-EVENT-ID": "goal-1",
                "X-PCAST-HOME": "1", "X-PCAST-PERIOD": "2", "X-PCAST-TEAM": "home", "X-PCAST-TYPE": "goal",
                "X-PCAST-VISITOR": "0",
            ])
        #expect(Self.attributes(ranges[1])["X-PCAST-AT"] == "1970-01-01T00:01:40.000Z")
        #expect(Self.attributes(ranges[1])["X-PCAST-PERIOD"] == "3")
        #expect(
            Self.attributes(ranges[2]) == ["X-PCAST-CHANGE": "deleted", "X-PCAST-EVENT-ID": "goal-1"])
        // The ranges are read as they are written.
        let playlist = MediaPlaylist(
            version: 9, targetDuration: .seconds(2 as Int64),
            segments: [
                MediaSegment(number: 0, uri: "a.m4s", duration: .seconds(2 as Int64), programDateTime: Self.time(100))
            ],
            dateRanges: ranges)
        #expect(try MediaPlaylist(playlist.text).dateRanges == ranges)
    }

    @Test("a text of any length and content is a valid attribute, and the IDs of revisions are different")
    func longTexts() throws {
        let name = String(repeating: "é\"{$", count: 25)
        let game = try TimelineGame(league: name, game: name)
        let event = GameEvent(["description": .string(String(repeating: "\u{0}\u{2028}\"", count: 5_000))])
        let ranges = try (1...2).map { number in
            try #require(
                DateRange(
                    TimelineRevision(
                        number: SequenceNumber(number), at: Self.time(1), recordedAt: Self.time(1),
                        change: .added(try TimelineEventID("a"), event)), gate: Self.time(1), of: game))
        }
        #expect(Set(ranges.map(\.id)).count == 2)
        #expect(ranges.allSatisfy { Self.attributes($0)["X-PCAST-DESCRIPTION"]?.unicodeScalars.count == 300 })
        let playlist = MediaPlaylist(version: 9, targetDuration: .seconds(2 as Int64), dateRanges: ranges)
        #expect(try MediaPlaylist(playlist.text).dateRanges == ranges)
    }

    @Test("a follower receives the revisions after a time, those before the game exists included, until it ends")
    func following() async throws {
        let service = TimelineService(directory: nil, logger: Logger(label: "test"))
        let key = try Self.key()
        let (early, late) = (Collected(), Collected())
        await service.follow(key, for: ObjectIdentifier(early), since: Self.time(0)) { early.add($0, of: key.game) }
        _ = try await service.record(try Self.put("old", "{}", recordedAt: Self.time(50)), in: key)
        _ = try await service.record(try Self.put("new", "{}", recordedAt: Self.time(150)), in: key)
        await service.follow(key, for: ObjectIdentifier(late), since: Self.time(100)) { late.add($0, of: key.game) }
        _ = try await service.record(try Self.put("next", "{}", recordedAt: Self.time(160)), in: key)
        await service.unfollow(key, for: ObjectIdentifier(early))
        _ = try await service.record(try Self.put("last", "{}", recordedAt: Self.time(170)), in: key)
        func names(_ collected: Collected) -> [String] {
            collected.ranges.compactMap { Self.attributes($0)["X-PCAST-EVENT-ID"] }
        }
        #expect(names(early) == ["old", "new", "next"])
        #expect(names(late) == ["new", "next", "last"])
    }

    @Test("the tag that a publisher's token applies names the game of a stream, and a tag of the client does not")
    func tags() throws {
        func key(_ tags: [String], publisher: String? = Principal.localPublisher) -> TimelineKey? {
            TimelineKey(
                of: LiveStream(
                    id: StreamID("a"), peer: PeerID(1), application: ApplicationID("first"), session: nil,
                    tags: StreamTags(recorded: tags, publisher: publisher), capabilities: [],
                    startTime: Self.time(0), address: nil, ordinal: 0, publisher: publisher))
        }
        let expected = try Self.key()
        #expect(key(["x", "timeline:NHL/2354717"]) == expected)
        #expect(key(["timeline:NHL/a/b"])?.game.game == "a/b")
        #expect(key(["timeline:NHL/2354717"], publisher: nil) == nil)
        for tag in ["timeline:NHL", "timeline:/1", "timeline:NHL/", "timeline:", "timelines:NHL/1"] {
            #expect(key([tag]) == nil, "\(tag)")
        }
    }

    @Test("a packaged stream lists the ranges that came before its packager and after, when the media reaches them")
    func packaged() async throws {
        var run = try PackagedRun(isConfigured: false)
        let start = run.wallTime
        func range(_ id: String, at seconds: Double) -> DateRange {
            DateRange(id: id, start: start + TimeSpan(seconds: seconds))
        }
        run.stream.add([range("before", at: 1)])
        run.stream.configure(answersKeyFrameRequests: true, at: run.now)
        run.stream.add([range("after", at: 3.5)])
        try run.send(150)
        #expect(try await run.playlist("opus")?.dateRanges.map(\.id) == ["before"])
        try run.send(50)
        #expect(try await run.playlist("opus")?.dateRanges.map(\.id) == ["before", "after"])
    }
}
