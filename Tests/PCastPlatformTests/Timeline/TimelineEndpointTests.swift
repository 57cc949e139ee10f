import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastTimeline
import PCastWeb
import Synchronization
import Testing

@Suite("The timelines of a platform")
struct TimelineEndpointTests {
    private static let game = "/timeline/NHL/2354717"

    @Test("a producer announces a game and its events, changes and removes them, and all of it is stored")
    func producing() async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.send("GET", Self.game).status == 404)
            #expect(try await platform.send("HEAD", Self.game).status == 404)
            let info = try await platform.ask("PUT", Self.game, #"{"venue_name":"Arena","teams":[{"code":"BOS"}]}"#)
            #expect(info.status == 200 && info.body.contains(#""change":"info""#) && info.body.contains(#""seq":1"#))
            let event = #"{"type":"goal","timestamp":"2026-11-21T18:30:00.125Z","custom":1.50}"#
            let added = try await platform.ask("POST", Self.game + "/events/goal%2F1", event)
            #expect(added.status == 201 && added.body.contains(#""change":"added""#))
            let again = try await platform.ask("POST", Self.game + "/events/goal%2F1", event)
            #expect(again.status == 200 && again.body.contains(#""change":"none""#) && again.body.contains(#""seq":2"#))
            let patched = try await platform.ask(
                "PATCH", Self.game + "/events/goal%2F1", #"{"description":"A. Scorer"}"#)
            #expect(patched.body.contains(#""change":"modified""#))
            #expect(try await platform.ask("POST", Self.game + "/events/x", "{}").status == 201)
            #expect(try await platform.ask("DELETE", Self.game + "/events/x").body.contains(#""change":"deleted""#))
            let all = try await platform.send("GET", Self.game)
            #expect(all.status == 200 && all.body.contains(#""seq":5"#))
            #expect(
                all.body.contains(
                    #""events":[{"type":"goal","timestamp":"2026-11-21T18:30:00.125Z","custom":1.50,"id":"goal/1","#
                        + #""description":"A. Scorer"}]"#))
            #expect(all.body.contains(#""info":{"venue_name":"Arena","teams":[{"code":"BOS"}]}"#))
            #expect(try await platform.send("HEAD", Self.game).status == 200)
            // Timelines of other applications are invisible, and names are case-sensitive.
            let other = try Tokens.make(TestPlatform.otherApplication) { $0.forStreamingOnly() }
            #expect(try await platform.send("GET", Self.game, ["Authorization": "Bearer \(other)"]).status == 404)
            #expect(try await platform.send("GET", "/timeline/nhl/2354717").status == 404)
            #expect(try await platform.figure("pcast_timeline_revisions_total") == 5)
        }
    }

    @Test("malformed, oversized and hostile messages receive a reason and have no effect on others")
    func hostile() async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.ask("POST", Self.game + "/events/a", "{}").status == 201)
            try await TimelineListener.follow(platform, Self.game + "/changes") { listener, _ async throws in
                #expect(try await listener.reaches(1))
                let path = Self.game + "/events/b"
                let wrong: [(String, Int, String)] = [
                    ("{", 400, "byte 1"), (#"{"type":5}"#, 400, "“type” has to be a text"),
                    (#"{"players":[{"type":"hero"}]}"#, 400, "hittee"),
                    (#"{"players":[5]}"#, 400, "players[0]"), (#"{"timestamp":"now"}"#, 400, "timestamp"),
                    (#"{"id":"c"}"#, 400, "address"), ("[]", 400, "an object"),
                    (#"{"a":"# + String(repeating: "[", count: 50_000), 400, "deep"),
                    (#"{"a":[0"# + String(repeating: ",0", count: 9_000) + "]}", 400, "many"),
                    (#"{"a":""# + String(repeating: "x", count: 70_000) + #""}"#, 413, "65536 bytes"),
                    ("{\"a\":\"\u{1}\"}", 400, "byte"),
                ]
                for (body, status, word) in wrong {
                    let answer = try await platform.ask("POST", path, body)
                    #expect(answer.status == status && answer.body.contains(word), "\(body.prefix(40)): \(answer.body)")
                }
                #expect(try await platform.ask("PATCH", path, #"{"period":"1"}"#).status == 404)
                #expect(try await platform.ask("PATCH", Self.game + "/events/a", #"{"period":1}"#).status == 400)
                #expect(try await platform.ask("DELETE", path).status == 404)
                let long = String(repeating: "e", count: 300)
                #expect(try await platform.ask("POST", Self.game + "/events/\(long)", "{}").status == 404)
                #expect(try await platform.ask("POST", Self.game + "/events/b?recordedAt=soon", "{}").status == 400)
                let future = Self.game + "/events/b?recordedAt=2199-01-01T00:00:00Z"
                #expect(try await platform.ask("POST", future, "{}").body.contains("future"))
                #expect(try await platform.ask("PUT", Self.game + "/events/a", "{}").status == 405)
                // A listener receives the next real event as the second one.
                #expect(try await platform.ask("POST", path, "{}").status == 201)
                #expect(try await listener.reaches(2))
                #expect(listener.revisions.map(\.number.value) == [1, 2])
            }
        }
    }

    @Test(
        "a producer whose clock is off receives the difference and is counted, and one without a time is not compared")
    func clocks() async throws {
        try await TestPlatform.run { platform async throws in
            func post(_ game: String, ahead seconds: Int64) async throws -> String {
                let now = MonotonicClock.wallTime() + .seconds(seconds)
                let path = "/timeline/NHL/\(game)/events/a?sentAt=\(Timestamp.text(now))"
                return try await platform.ask("POST", path, "{}").body
            }
            func difference(_ body: String) throws -> Double {
                let rest = try #require(body.split(separator: #""clockDifference":"#).dropFirst().first)
                return try #require(Double(rest.prefix { "-.0123456789".contains($0) }))
            }
            #expect(try await !platform.ask("POST", Self.game + "/events/a", "{}").body.contains("clockDifference"))
            #expect(try await platform.figure("pcast_timeline_producers_off") == 0)
            // A request takes some time to arrive, so the differences are at most the stated ones.
            let ahead = try difference(try await post("ahead", ahead: 3_600))
            #expect(ahead > 200 && ahead <= 3_600_000)
            #expect(try await platform.figure("pcast_timeline_producers_off") == 1)
            #expect(try difference(try await post("behind", ahead: -3_600)) < -3_599_000)
            #expect(try await platform.figure("pcast_timeline_producers_off") == 2)
            // The field of HTTP counts if there is no other time.
            let path = "/timeline/NHL/date/events/a"
            let dated = try await platform.send(
                "POST", path, ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"], body: "{}")
            #expect(try difference(dated.body) < -1_000)
            #expect(try await platform.figure("pcast_timeline_producers_off") == 3)
            let wrong = try await platform.send("POST", path, ["Date": "yesterday"], body: "{}")
            #expect(wrong.status == 200 && !wrong.body.contains("clockDifference"))
            #expect(try await platform.ask("POST", path + "?sentAt=soon", "{}").status == 400)
        }
    }

    @Test("producers need the application's credentials or a publishing token, consumers a viewing token")
    func access() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform async throws in
            let path = Self.game + "/events/a"
            func post(_ token: String?) async throws -> Int {
                try await platform.send(
                    "POST", path, token.map { ["Authorization": "Bearer \($0)"] } ?? [:], body: "{}"
                )
                .status
            }
            func get(_ token: String?) async throws -> Int {
                try await platform.send("GET", Self.game, token.map { ["Authorization": "Bearer \($0)"] } ?? [:]).status
            }
            #expect(try await post(nil) == 401)
            #expect(try await post(Tokens.publishing()) == 401)
            #expect(try await post(Tokens.make { $0.forStreamingOnly().withCapability("timeline-producer") }) == 401)
            #expect(
                try await post(Tokens.make { $0.forPublishingOnly().withCapability("timeline-producer=NHL/1") }) == 401)
            #expect(try await post(Tokens.make { $0.forPublishingOnly().withCapability("timeline-producer") }) == 201)
            #expect(
                try await post(
                    Tokens.make { $0.forPublishingOnly().withCapability("timeline-producer=NHL/2354717") }) == 200)
            #expect(try await platform.ask("POST", path, "{}").status == 200)
            let wrong = Base64.encode(Array("first:wrong".utf8))
            #expect(
                try await platform.send("POST", path, ["Authorization": "Basic \(wrong)"], body: "{}").status == 401)

            #expect(try await get(nil) == 401)
            #expect(try await get(Tokens.publishing()) == 401)
            #expect(try await get(Tokens.viewing()) == 200)
            #expect(try await get(Tokens.make { $0.forStreamingOnly().forTag("timeline:NHL") }) == 200)
            #expect(try await get(Tokens.make { $0.forStreamingOnly().forTag("timeline:NHL/2354717") }) == 200)
            #expect(try await get(Tokens.make { $0.forStreamingOnly().forTag("timeline:NBA") }) == 401)
            #expect(try await get(Tokens.make { $0.forStreamingOnly().forOriginStream("s") }) == 401)
            let refused = Self.game + "/changes"
            try await TimelineListener.follow(platform, refused) { listener, _ async throws in
                #expect(try await eventually { !listener.messages.isEmpty })
                guard case .refused("unauthorized", _)? = listener.messages.first else {
                    Issue.record("\(listener.messages)")
                    return
                }
            }
            // A page cannot set a header for its token.
            let token = try Tokens.viewing().replacing("=", with: "%3D").replacing("+", with: "%2B")
            try await TimelineListener.follow(platform, refused + "?token=\(token)") { listener, _ async throws in
                #expect(try await listener.reaches(1))
            }
            try await TimelineListener.follow(
                platform, "/timeline/NHL/other/changes", token: Tokens.viewing()
            ) { listener, _ async throws in
                #expect(try await eventually { !listener.messages.isEmpty })
                guard case .refused("not-found", _)? = listener.messages.first else {
                    Issue.record("\(listener.messages)")
                    return
                }
            }
        }
    }

    @Test("consumers get everything, then each change, and resume without gap or duplicate")
    func following() async throws {
        try await TestPlatform.run { platform async throws in
            for index in 0..<20 {
                #expect(try await platform.ask("POST", Self.game + "/events/e\(index)", "{}").status == 201)
            }
            try await TimelineListener.follow(platform, Self.game + "/changes") { listener, _ async throws in
                #expect(try await listener.reaches(20))
                #expect(try await platform.ask("PATCH", Self.game + "/events/e3", #"{"period":"2"}"#).status == 200)
                #expect(try await listener.reaches(21))
                #expect(listener.revisions.map(\.number.value) == Array(1...21))
                #expect(listener.revisions.last?.event?.period == "2")
                let begun = try #require(listener.beginning)
                #expect(begun.newest == 20 && begun.from == 0)
                #expect(try await platform.figure("pcast_timeline_consumers") == 1)

                let again = Self.game + "/changes?since=15&log=\(begun.log)"
                try await TimelineListener.follow(platform, again) { second, _ async throws in
                    #expect(try await platform.ask("DELETE", Self.game + "/events/e4").status == 200)
                    #expect(try await second.reaches(7))
                    #expect(second.revisions.map(\.number.value) == Array(16...22))
                    #expect(second.beginning?.from == 15)
                }
                // For another log, or a number beyond the end, the log is sent from the beginning.
                for query in ["since=15&log=other", "since=99", "since=-1"] {
                    try await TimelineListener.follow(platform, Self.game + "/changes?" + query) {
                        third, _ async throws in
                        #expect(try await third.reaches(22))
                        #expect(third.beginning?.from == 0 && third.revisions.first?.number.value == 1)
                    }
                }
            }
            #expect(try await platform.reaches("pcast_timeline_consumers", 0))
        }
    }

    @Test("a consumer that sends too many messages is disconnected, and others are not")
    func tooManyMessages() async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.ask("POST", Self.game + "/events/a", "{}").status == 201)
            try await TimelineListener.follow(platform, Self.game + "/changes") { listener, _ async throws in
                try await TimelineListener.follow(platform, Self.game + "/changes") { talker, connection async throws in
                    #expect(try await talker.reaches(1))
                    #expect(try await platform.reaches("pcast_timeline_consumers", 2))
                    for _ in 0..<40 { try? await connection.send(.text(#"{"type":"changes"}"#)) }
                    #expect(try await platform.reaches("pcast_timeline_consumers", 1))
                }
                #expect(try await platform.ask("POST", Self.game + "/events/b", "{}").status == 201)
                #expect(try await listener.reaches(2))
            }
        }
    }
}

/// A consumer of a timeline that records the messages that it receives.
final class TimelineListener: Sendable {
    private let taken = Mutex<[TimelineMessage]>([])

    var messages: [TimelineMessage] { taken.withLock { $0 } }

    var revisions: [TimelineRevision] {
        messages.flatMap { if case .changes(let revisions) = $0 { revisions } else { [TimelineRevision]() } }
    }

    /// The log that it follows, and the revision at which it starts.
    var beginning: (log: TimelineLogID, newest: Int, from: Int)? {
        for case .begin(let id, let newest, let from) in messages { return (id, newest.value, from.value) }
        return nil
    }

    /// Follows the timeline while `body` runs. `body` also gets the WebSocket.
    static func follow(
        _ platform: TestPlatform, _ path: String, token: String? = nil,
        _ body: @escaping @Sendable (TimelineListener, WebSocketConnection) async throws -> Void
    ) async throws {
        let listener = TimelineListener()
        let headers = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        try await WebSocketClient().connect(to: platform.uri + path, headers: headers) { connection in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await connection.forEachMessage { message in
                        guard case .text(let text) = message else { return }
                        let read = try TimelineMessage(parsing: Array(text.utf8))
                        listener.taken.withLock { $0.append(read) }
                    }
                }
                do {
                    try await body(listener, connection)
                } catch {
                    connection.cut()
                    throw error
                }
                connection.cut()
            }
        }
    }

    /// Waits for a number of revisions.
    func reaches(_ count: Int) async throws -> Bool { try await eventually { self.revisions.count >= count } }
}
