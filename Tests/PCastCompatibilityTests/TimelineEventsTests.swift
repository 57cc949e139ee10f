import PCastCompatibility
import PCastTimeline
import Synchronization
import Testing

@testable import PCastPlayback

/// A source of a game that sends the test's messages in order.
private final class SpokenGame: TimelineSource, Sendable {
    private let messages: AsyncStream<TimelineMessage>
    private let speaker: AsyncStream<TimelineMessage>.Continuation
    private let log = Mutex(TimelineLog())
    let asked = Mutex(0)
    let games = Mutex<[TimelineGame]>([])

    init() { (messages, speaker) = AsyncStream.makeStream() }

    func say(_ change: TimelineRequest.Change, at milliseconds: Int64) throws {
        let now = WallTime(millisecondsSinceEpoch: milliseconds)
        let revision = try log.withLock { log in
            let revision = try log.revision(for: TimelineRequest(change), at: now)
            if let revision { try log.append(revision) }
            return revision
        }
        if let revision { speaker.yield(.changes([revision])) }
    }

    func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool {
        asked.withLock { $0 += 1 }
        games.withLock { $0.append(game) }
        return true
    }

    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        asked.withLock { $0 += 1 }
        try take(.begin(TimelineLogID("log"), newest: .none, from: .none))
        for await message in messages { try take(message) }
    }
}

/// Records the events that it receives.
private final class Receiver: EventSendableDelegate {
    private let (lines, line) = AsyncStream<String>.makeStream()
    private let received = Mutex(0)
    private let description = Mutex<(@Sendable ([String: Any]) -> String?)?>(nil)

    /// Writes down this of the metadata from now on.
    func describe(_ body: @escaping @Sendable ([String: Any]) -> String?) { description.withLock { $0 = body } }

    var count: Int { received.withLock { $0 } }

    func didReceive(event: StreamTimelineEvent, suggestedAction: Action, metadata: StreamTimelineMetadata?) {
        guard let data = metadata as? TimelineEventMetadata else { return }
        let fields = data.eventMetadata
        let typical = fields["description"] as? String ?? fields["venue_name"] as? String ?? ""
        let text = description.withLock { $0 }?(fields) ?? typical
        received.withLock { $0 += 1 }
        line.yield("\(event.rawValue) \(data.type) \(suggestedAction) \(text)")
    }

    func next() async -> String? { await lines.first { _ in true } }
}

extension GameTimeline {
    /// Waits until so many revisions have arrived and were reported.
    fileprivate func reaches(_ count: Int) async {
        while newest < SequenceNumber(count), !Task.isCancelled { await Task.yield() }
        await settled()
    }
}

// These tests are within the suite that runs one test at a time, because there is only one factory.
extension QuickplayTests {
    /// The sentences of “Timeline Events” that can be tested by a call.
    @Suite("Timeline Events")
    struct TimelineEventsTests {
        private let game = SpokenGame()
        private let receiver = Receiver()
        private let player = Player(Pipelines().factory)
        private let id: TimelineEventID

        init() throws { id = try TimelineEventID("goal-1") }

        private func manager(spoiler: Bool) -> StreamTimelineManager {
            FLStreamTimelineFactory.source = game
            defer { FLStreamTimelineFactory.source = nil }
            player.eventDelegate = receiver
            return FLStreamTimelineFactory.streamTimelineManager(
                configuration: FLStreamTimelineFactory.streamTimelineConfiguration(
                    leagueName: "IPL", gameId: "2354717", spoiler: spoiler), player: player)
        }

        private func event(_ text: String) throws -> GameEvent { try GameEvent(parsing: Array(text.utf8)) }

        @Test(
            "leagueName: The league name for the content is going to play. Ex: NHL, NBA, IPL",
            arguments: ["NHL", "NBA", "IPL"])
        func leagueName(_ league: String) async throws {
            FLStreamTimelineFactory.source = game
            defer { FLStreamTimelineFactory.source = nil }
            let manager = FLStreamTimelineFactory.streamTimelineManager(
                configuration: FLStreamTimelineFactory.streamTimelineConfiguration(
                    leagueName: league, gameId: "2354717", spoiler: true), player: player)
            #expect(await manager.canSubscribeEvents())
            #expect(game.games.withLock { $0.map { "\($0.league) \($0.game)" } } == ["\(league) 2354717"])
            manager.shutdown()
        }

        @Test("gameId: The Identifier for the particular game.")
        func gameID() async throws {
            let manager = manager(spoiler: true)
            #expect(await manager.canSubscribeEvents())
            #expect(game.games.withLock { $0.map(\.game) } == ["2354717"])
            manager.shutdown()
        }

        @Test("subscribeEvents: success, and failure")
        func results() async throws {
            let manager = manager(spoiler: true)
            let (results, result) = AsyncStream.makeStream(of: String.self)
            var received = results.makeAsyncIterator()
            manager.subscribeEvents { outcome in
                if case .success = outcome { result.yield("success") } else { result.yield("failure") }
            }
            #expect(await received.next() == "success")
            manager.shutdown()
            manager.subscribeEvents { outcome in
                if case .success = outcome { result.yield("success") } else { result.yield("failure") }
            }
            #expect(await received.next() == "failure")
        }

        @Test("The player should be confirmed to EventSendableDelegate to receive events.")
        func delegate() async throws {
            let manager = manager(spoiler: true)
            try await manager.subscribeEvents()
            try game.say(.put(id, try event(#"{"description":"first"}"#)), at: 2_000)
            #expect(await receiver.next() == "gameEvent added none first")
            // Without one, nobody is called.
            player.eventDelegate = nil
            try game.say(.put(id, try event(#"{"description":"second"}"#)), at: 3_000)
            await manager.reaches(2)
            #expect(receiver.count == 1 && manager.shownEvents.map(\.description) == ["second"])
            manager.shutdown()
        }

        @Test("eventMetadata: The metadata of the stream timeline event, by the JSON schemas of game and event")
        func schemas() async throws {
            let manager = manager(spoiler: true)
            receiver.describe { fields in
                let teams = fields["teams"] as? [[String: Any]]
                let players = teams?.first?["players"] as? [[String: Any]]
                let total = (fields["scorecard"] as? [String: Any])?["total"] as? [String: Any]
                return players?.first?["name"] as? String ?? total?["home"] as? String
            }
            try await manager.subscribeEvents()
            let info = #"""
                {"id":"2354717","matchNumber":"12","season":"2026","series":"Final","scheduledStart":"2026-05-01T12:00:00Z",
                "timestamp":"2026-05-01T11:00:00Z","venue_id":"v1","venue_name":"Eden Gardens","game_year":"2026","teams":[
                {"code":"HOM","id":"t1","images":["https://images.example/1.png"],"region":"East","name":"Home","type":"home",
                "players":[{"currentTeam":"t1","name":"A. Scorer","images":[],"id":"p1","number":"9","position":"C"}]}]}
                """#
            let goal = #"""
                {"description":"Goal","id":"goal-1","teamInvolved":"home","timestamp":"2026-05-01T12:20:00Z","period":"1",
                "type":"goal","startTime":"2026-05-01T12:00:00Z","players":[{"id":"p1","name":"A. Scorer","type":"scorer"}],
                "scorecard":{"total":{"visitor":"0","home":"1"},"goals_by_period":[{"visitor":"0","home":"1","period":"1"}]}}
                """#
            try game.say(.info(try GameInfo(parsing: Array(info.utf8))), at: 1_000)
            #expect(await receiver.next() == "gameInfo unknown none A. Scorer")
            try game.say(.put(id, try event(goal)), at: 2_000)
            #expect(await receiver.next() == "gameEvent added none 1")
            manager.shutdown()
        }

        @Test("spoiler: default value is false")
        func ungatedByDefault() {
            let configuration = FLStreamTimelineFactory.streamTimelineConfiguration(
                leagueName: "NHL", gameId: "2354717")
            #expect(!configuration.spoiler && configuration.leagueName == "NHL" && configuration.gameId == "2354717")
            #expect(!StreamTimelineConfiguration(leagueName: "NHL", gameId: "1").spoiler)
        }

        @Test("we recommend creating the TimelineManager lazily: nothing is read before it is asked")
        func lazily() async throws {
            let manager = manager(spoiler: true)
            #expect(game.asked.withLock { $0 } == 0)
            #expect(await manager.canSubscribeEvents())
            #expect(game.asked.withLock { $0 } == 1)
            manager.shutdown()
        }

        @Test("true to receive events as soon as available: added, modified, deleted, and the game as unknown")
        func asSoonAsAvailable() async throws {
            let manager = manager(spoiler: true)
            try await manager.subscribeEvents()
            try game.say(.info(try GameInfo(parsing: Array(#"{"venue_name":"Eden Gardens"}"#.utf8))), at: 1_000)
            #expect(await receiver.next() == "gameInfo unknown none Eden Gardens")
            try game.say(.put(id, try event(#"{"type":"wicket","description":"Out"}"#)), at: 2_000)
            #expect(await receiver.next() == "gameEvent added none Out")
            try game.say(.put(id, try event(#"{"type":"wicket","description":"Run out"}"#)), at: 3_000)
            #expect(await receiver.next() == "gameEvent modified none Run out")
            try game.say(.delete(id), at: 4_000)
            #expect(await receiver.next() == "gameEvent deleted none Run out")
            manager.shutdown()
        }

        @Test("shutdown should be called when you are no longer interested: nothing is received after it")
        func shutdown() async throws {
            let manager = manager(spoiler: true)
            try await manager.subscribeEvents()
            try game.say(.put(id, try event(#"{"description":"first"}"#)), at: 2_000)
            #expect(await receiver.next() == "gameEvent added none first")
            manager.shutdown()
            try game.say(.put(id, try event(#"{"description":"second"}"#)), at: 3_000)
            await manager.settled()
            await #expect(throws: TimelineFollowError.over) { try await manager.subscribeEvents() }
            #expect(receiver.count == 1)
        }
    }
}
