import PCastCore
import PCastJSON
import PCastTimeline
import Testing

@Suite("The log of a timeline")
struct TimelineLogTests {
    private func event(_ text: String) throws -> GameEvent { try GameEvent(parsing: Array(text.utf8)) }

    private func put(_ id: String, _ text: String) throws -> TimelineRequest {
        TimelineRequest(.put(try TimelineEventID(id), try event(text)))
    }

    @Test("an event is added, changed in whole and in part, and deleted")
    func life() throws {
        var log = TimelineLog()
        func take(_ request: TimelineRequest, at now: Int64) throws -> TimelineRevision? {
            guard let revision = try log.revision(for: request, at: moment(now)) else { return nil }
            try log.append(revision)
            return revision
        }
        let id = try TimelineEventID("goal-1")
        let first = try #require(try take(put("goal-1", #"{"type":"goal","custom":1.50}"#), at: 2_000))
        #expect(first.number == SequenceNumber(1) && first.at == moment(2_000))
        #expect(log.gate(of: first.number) == moment(2_000))
        #expect(log.event(id)?.id == "goal-1" && log.event(id)?.type == .goal)
        // The same event again changes nothing.
        #expect(try take(put("goal-1", #"{"type":"goal","custom":1.50}"#), at: 3_000) == nil)
        let patch = try TimelineRequest.patch(
            id, parsing: Array(#"{"scorecard":{"total":{"home":"2"}},"timestamp":"1970-01-01T00:00:01Z"}"#.utf8))
        let second = try #require(try take(TimelineRequest(patch), at: 4_000))
        #expect(second.at == moment(1_000) && log.gate(of: second.number) == moment(4_000))
        #expect(second.event?.scorecard?.total?.home == "2" && second.event?.type == .goal)
        // Unknown members are kept as they were written.
        let written = JSONValue.object(try #require(second.event?.object)).text
        #expect(written.contains(#""custom":1.50"#))
        let third = try #require(try take(TimelineRequest(.delete(id)), at: 5_000))
        #expect(third.change == .deleted(id) && log.event(id) == nil && log.events.isEmpty)
        #expect(throws: TimelineError.noEvent("goal-1")) { try take(TimelineRequest(.delete(id)), at: 6_000) }
        #expect(throws: TimelineError.noEvent("goal-1")) { try take(TimelineRequest(patch), at: 6_000) }
        #expect(log.bounds == SequenceNumber(1)...SequenceNumber(3))
        #expect(log.changes(since: SequenceNumber(1)).map(\.number.value) == [2, 3])
        #expect(log.changes(since: SequenceNumber(9)).isEmpty && log.changes(since: .none).count == 3)
    }

    @Test("a producer can set the past time at which something was known, but not a future one")
    func recorded() throws {
        let log = TimelineLog()
        var request = try put("a", "{}")
        request.recordedAt = moment(1_000)
        #expect(try log.revision(for: request, at: moment(9_000))?.recordedAt == moment(1_000))
        request.recordedAt = moment(9_001)
        #expect(throws: TimelineError.recordedInFuture) { try log.revision(for: request, at: moment(9_000)) }
    }

    @Test("an event for another address is rejected")
    func otherEvent() throws {
        #expect(throws: TimelineError.otherEvent("b")) {
            try TimelineLog().revision(for: put("a", #"{"id":"b"}"#), at: moment(0))
        }
    }

    @Test("a full log rejects events and stays unchanged")
    func full() throws {
        var limits = TimelineLimits()
        limits.revisions = 2
        var log = TimelineLog(within: limits)
        for id in ["a", "b"] {
            let revision = try log.revision(for: put(id, "{}"), at: moment(0))
            try log.append(try #require(revision))
        }
        #expect(throws: TimelineError.full(limit: 2)) { try log.revision(for: put("c", "{}"), at: moment(0)) }
        #expect(log.events.count == 2)
        limits.revisions = 10
        limits.logBytes = 100
        #expect(throws: TimelineError.full(limit: 100)) {
            var log = TimelineLog(within: limits)
            for id in ["a", "b"] {
                if let revision = try log.revision(for: put(id, "{}"), at: moment(0)) { try log.append(revision) }
            }
        }
    }

    @Test("a consumer's log ignores repeated events, and detects missing ones")
    func resumed() throws {
        var source = ScriptedLog()
        for index in 0..<5 { try source.put("e\(index)", at: 0, recorded: Int64(index)) }
        var log = TimelineLog()
        for revision in source.log.revisions.prefix(3) { #expect(try log.append(revision)) }
        for revision in source.log.revisions.prefix(3) { #expect(try !log.append(revision)) }
        #expect(throws: TimelineError.gap(expected: 4, got: 5)) { try log.append(source.log.revisions[4]) }
        for revision in source.log.changes(since: log.newest) { #expect(try log.append(revision)) }
        #expect(log.revisions == source.log.revisions && log.byteCount == source.log.byteCount)
    }
}

@Suite("Timelines of any sport")
struct TimelineSportTests {
    private func event(_ text: String) throws(TimelineError) -> GameEvent { try GameEvent(parsing: Array(text.utf8)) }

    @Test(
        "leagueName, ex: NHL, NBA, IPL: each has its own events",
        arguments: [
            ("NHL", #"{"type":"goal","teamInvolved":"home","scorecard":{"total":{"home":"1","visitor":"0"}}}"#),
            (
                "NBA",
                #"{"type":"three_pointer","teamInvolved":"visitor","players":[{"name":"A","type":"shooter"}],"period":"Q3"}"#
            ),
            (
                "IPL",
                #"{"type":"wicket","players":[{"name":"B","type":"unknown","role":"bowler"}],"scorecard":{"total":"#
                    + #"{"home":"187/4"},"overs":"18.2"}}"#
            ),
            ("FIFA", #"{"type":"Own goal (VAR)","id":"é"}"#),
        ])
    func leagues(league: String, text: String) throws {
        _ = try TimelineGame(league: league, game: "1")
        let event = try event(text)
        // All content is passed on as it was written.
        #expect(event.object.text == text)
        #expect(GameEventKind.known.contains(try #require(event.type)) == (league == "NHL"))
    }

    @Test(
        "team, players and scorecard follow the schema",
        arguments: [
            (#"{"teamInvolved":"guests"}"#, "“teamInvolved” is “guests”: use one of home, visitor"),
            (#"{"players":[{"type":"bowler"}]}"#, "“players[0].type” is “bowler”: use one of winner, loser"),
            (#"{"players":{}}"#, "“players” has to be a list"),
            (#"{"players":[{"name":7}]}"#, "“players[0].name” has to be a text"),
            (#"{"scorecard":{"total":{"home":1}}}"#, "“scorecard.total.home” has to be a text"),
            (#"{"scorecard":{"goals_by_period":[1]}}"#, "“scorecard.goals_by_period[0]” has to be an object"),
            (#"{"type":{}}"#, "“type” has to be a text"),
        ])
    func schema(text: String, sentence: String) {
        do {
            _ = try event(text)
            Issue.record("\(text) was accepted")
        } catch {
            #expect("\(error)".hasPrefix(sentence))
        }
    }
}
