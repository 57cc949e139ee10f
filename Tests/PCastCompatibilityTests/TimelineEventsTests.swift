import PCastCompatibility
import Synchronization
import Testing

@testable import PCastPlayback

/// A source of a game that sends the test's messages in order.
private final class SpokenGame: TimelineSource, Sendable {
    private let messages: AsyncStream<TimelineMessage>
    private let speaker: AsyncStream<TimelineMessage>.Continuation
    private let log = Mutex(TimelineLog())
    let asked = Mutex(0)

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

    func exists(_ game: TimelineGame) async throws(TimelineTrouble) -> Bool {
        asked.withLock { $0 += 1 }
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

    var count: Int { received.withLock { $0 } }

    func didReceive(event: StreamTimelineEvent, suggestedAction: Action, metadata: StreamTimelineMetadata?) {
        guard let data = metadata as? TimelineEventMetadata else { return }
        let text = data.eventMetadata["description"] ?? data.eventMetadata["venue_name"] ?? ""
        received.withLock { $0 += 1 }
        line.yield("\(event.rawValue) \(data.type) \(suggestedAction) \(text)")
    }

    func next() async -> String? { await lines.first { _ in true } }
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

        @Test("spoiler: default value is false")
        func spoilerByDefault() {
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
            await #expect(throws: TimelineTrouble.over) { try await manager.subscribeEvents() }
            #expect(receiver.count == 1)
        }
    }
}
