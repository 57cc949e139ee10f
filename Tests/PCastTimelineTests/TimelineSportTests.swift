import PCastJSON
import PCastTimeline
import Testing

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
