import PCastCore
import PCastJSON
import PCastTimeline
import Testing

@Suite("The messages to producers and consumers of a timeline")
struct TimelineWireTests {
    private func event(_ text: String) throws(TimelineError) -> GameEvent { try GameEvent(parsing: Array(text.utf8)) }

    @Test("an event has all fields of the schema with their given values")
    func fields() throws {
        let text =
            #"{"description":"Goal!","id":"2026-11-21T18:30:00Z","teamInvolved":"visitor","timestamp":"#
            + #""2026-11-21T18:30:00.125Z","period":"2","type":"penalty_shot","startTime":"2026-11-21T18:29:00Z","#
            + #""players":[{"id":"1","name":"A","type":"shooter"},{"name":"B","type":"goalie"}],"scorecard":{"total":"#
            + #"{"visitor":"03","home":"2"},"goals_by_period":[{"visitor":"1","home":"0","period":"1"}]}}"#
        let event = try event(text)
        #expect(event.object.text == text)
        #expect(event.description == "Goal!" && event.period == "2" && event.startTime == "2026-11-21T18:29:00Z")
        #expect(event.teamInvolved == .visitor && event.type == .penaltyShot && event.id == "2026-11-21T18:30:00Z")
        #expect(event.moment == WallTime(millisecondsSinceEpoch: 1_795_285_800_125))
        #expect(event.players?.map(\.name) == ["A", "B"] && event.players?.last?.type == .goalie)
        #expect(event.scorecard?.total?.visitor == "03")
        #expect(event.scorecard?.goalsByPeriod?.first?.period == "1")
    }

    @Test("a game has all fields of the schema")
    func info() throws {
        let text =
            #"{"id":"2354717","matchNumber":"5","season":"2026","series":"Cup","scheduledStart":"2026-11-21T18:00:00Z","#
            + #""timestamp":"2026-11-20T18:00:00Z","venue_id":"9","venue_name":"Arena","game_year":"2026","teams":"#
            + #"[{"code":"BOS","id":"6","images":["a","b"],"region":"East","name":"Boston","type":"home","players":"#
            + #"[{"currentTeam":"BOS","name":"A","images":["c"],"id":"7","number":"8","position":"C"}]}]}"#
        let info = try GameInfo(parsing: Array(text.utf8))
        #expect(info.object.text == text)
        #expect(info.id == "2354717" && info.matchNumber == "5" && info.season == "2026" && info.series == "Cup")
        #expect(info.venueID == "9" && info.venueName == "Arena" && info.gameYear == "2026")
        #expect(info.scheduledStart == "2026-11-21T18:00:00Z" && info.moment != nil)
        let team = try #require(info.teams?.first)
        #expect(team.code == "BOS" && team.images == ["a", "b"] && team.region == "East" && team.type == .home)
        let player = try #require(team.players?.first)
        #expect(player.currentTeam == "BOS" && player.number == "8" && player.position == "C" && player.images == ["c"])
    }

    @Test("fields can be set and removed")
    func setting() {
        var event = GameEvent()
        var player = EventPlayer()
        (player.name, player.type) = ("A", .scorer)
        (event.type, event.players, event.period) = (.goal, [player], "1")
        event.period = nil
        #expect(
            event.object.text
                == #"{"type":"goal","players":[{"name":"A","type":"scorer"}]}"#)
    }

    @Test("content outside the schema is rejected with the expected values")
    func schema() {
        let limits = TimelineLimits()
        #expect(throws: TimelineError.wrongType("“description”", expected: "a text")) {
            try event(#"{"description":5}"#)
        }
        #expect(throws: TimelineError.wrongType("“players[1]”", expected: "an object")) {
            try event(#"{"players":[{},null]}"#)
        }
        #expect(throws: TimelineError.notATime("“timestamp”")) { try event(#"{"timestamp":"yesterday"}"#) }
        #expect(throws: TimelineError.wrongType("the message", expected: "an object")) { try event("[]") }
        #expect(throws: TimelineError.notJSON(at: 9)) { try event(#"{"a":1,  x}"#) }
        #expect(throws: TimelineError.tooLarge(limit: limits.bytes)) {
            try event(#"{"a":""# + String(repeating: "x", count: limits.bytes) + #""}"#)
        }
        #expect(throws: TimelineError.tooDeep(limit: limits.depth)) {
            try event(#"{"a":"# + String(repeating: "[", count: 20) + String(repeating: "]", count: 20) + "}")
        }
        #expect(throws: TimelineError.tooMany("values", limit: limits.values)) {
            try event(#"{"a":[1"# + String(repeating: ",1", count: limits.values) + "]}")
        }
        #expect(throws: TimelineError.tooMany("members", limit: limits.members)) {
            try event("{" + (0...limits.members).map { "\"\($0)\":0" }.joined(separator: ",") + "}")
        }
        do {
            _ = try event(#"{"players":[{"type":"hero"}]}"#)
            Issue.record("a player of an unknown type was accepted")
        } catch {
            #expect("\(error)".hasPrefix("“players[0].type” is “hero”: use one of winner, loser"))
        }
        #expect(throws: TimelineError.badName("the league", limit: limits.gameName)) {
            try TimelineGame(league: "", game: "1")
        }
    }

    @Test("a revision and each message are parsed as they were written")
    func messages() throws {
        let id = try TimelineEventID("a/ö")
        let changes: [TimelineRevision.Change] = [
            .info(try GameInfo(parsing: Array(#"{"id":"1"}"#.utf8))), .added(id, try event(#"{"x":[1e3]}"#)),
            .modified(id, try event("{}")), .deleted(id),
        ]
        let revisions = changes.enumerated().map { index, change in
            TimelineRevision(
                number: SequenceNumber(index + 1), at: moment(-5), recordedAt: moment(1_790_000_000_000), change: change
            )
        }
        for revision in revisions { #expect(try TimelineRevision(parsing: revision.bytes) == revision) }
        let messages: [TimelineMessage] = [
            .begin(TimelineLogID("x"), newest: SequenceNumber(4), from: .none), .changes(revisions),
            .behind(newest: SequenceNumber(7)), .refused("unauthorized", "no"), .unknown("later"),
        ]
        for message in messages { #expect(try TimelineMessage(parsing: message.bytes) == message) }
        #expect(TimelineMessage.changes(revisions.map(\.bytes)) == TimelineMessage.changes(revisions).bytes)
        #expect(throws: TimelineError.self) { try TimelineMessage(parsing: Array(#"{"type":"begin"}"#.utf8)) }
    }

    @Test("the largest accepted event fits into a readable message")
    func largest() throws {
        let limits = TimelineLimits()
        let text = #"{"d":""# + String(repeating: "x", count: limits.bytes - 8) + #""}"#
        let event = try event(text)
        let id = try TimelineEventID(String(repeating: "i", count: limits.name))
        let revision = try #require(
            try TimelineLog().revision(for: TimelineRequest(.put(id, event)), at: moment(0)))
        #expect(try TimelineRevision(parsing: revision.bytes) == revision)
        let message = TimelineMessage.changes([revision])
        #expect(message.bytes.count <= TimelineMessage.largest)
        #expect(try TimelineMessage(parsing: message.bytes) == message)
    }
}
