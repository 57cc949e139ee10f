import PCastCore
import PCastJSON
import PCastTimeline
import Testing

@testable import PCastPlayback

@Suite("A game's timeline for a player's viewer")
struct GameTimelineTests {
    private final class Delegate: EventSendableDelegate {
        let received = Exclusive<[String]>([])

        func didReceive(
            event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?
        ) {
            guard let data = metadata as? TimelineEventMetadata, suggestedAction == .none else { return }
            let text = data.eventMetadata["description"] as? String ?? data.eventMetadata["venue_name"] as? String ?? ""
            let reason = data.eventMetadata["reason"] as? String ?? ""
            received.change { $0.append("\(event.rawValue) \(data.type) \(text)\(reason)") }
        }

        func take() -> [String] {
            received.change { received in
                defer { received = [] }
                return received
            }
        }
    }

    private let scripts = ScriptedPipelines()
    private let service = ScriptedTimelines()
    private let delegate = Delegate()
    private let player: Player
    private let configuration = TimelineConfiguration(leagueName: "NHL", gameId: "1")

    init() {
        player = Player(scripts.factory)
        player.eventDelegate = delegate
    }

    private func play() async throws -> ScriptedPipeline {
        player.set(video: Video("https://a.example/live.m3u8"), play: true)
        let script = try await scripts.last(player)
        script.open(.datedProgramme)
        return script
    }

    private func received(_ timeline: GameTimeline) async -> [String] {
        await player.settled()
        await timeline.settled()
        return delegate.take()
    }

    private func connection() async throws -> ScriptedTimelines.Connection {
        try #require(await service.connections.first { _ in true })
    }

    private func game() throws -> TimelineLog {
        var script = TimelineScript()
        try script.describe("Arena", recorded: 900)
        try script.put("goal", at: 1_011, recorded: 1_011.25, "told")
        try script.put("goal", at: 1_011, recorded: 1_015, "corrected")
        return script.log
    }

    @Test("events are delivered with their frame, are corrected, return with a seek, and are cue points")
    func gated() async throws {
        let timeline = GameTimeline(configuration, player: player, source: service)
        let consumer = Transcript()
        player.add(consumer)
        let script = try await play()
        script.completeSeek(at: .seconds(10))
        #expect(await timeline.canSubscribeEvents())
        async let subscribed: Void = timeline.subscribeEvents()
        let connection = try await connection()
        #expect(connection.since == 0)
        connection.begin(try game())
        try await subscribed
        #expect(timeline.newest == SequenceNumber(3))
        // A timeline that starts at a paused frame has the events that are known there.
        #expect(await received(timeline) == ["gameInfo unknown Arena"])
        script.run(0.9)
        #expect(await received(timeline) == [])
        script.run(0.4)
        #expect(await received(timeline) == ["gameEvent added told"])
        #expect(timeline.shownEvents.map(\.description) == ["told"])
        let session = try #require(player.session)
        #expect(
            session.cuePoints.map(\.type) == ["timeline.goal"] && session.cuePoints[0].position == .at(.seconds(11)))
        #expect(consumer.take().filter { $0.hasPrefix("cue") }.count == 1)
        script.run(3.7)
        #expect(await received(timeline) == ["gameEvent modified corrected"])
        #expect(session.cuePoints.count == 1)
        #expect(session.cuePoints[0].properties["description"] == "corrected")
        #expect(consumer.take().filter { $0.hasPrefix("cue") }.isEmpty)
        // Nothing changes before the frame there is shown.
        player.startSeek(to: .seconds(12))
        #expect(await received(timeline) == [])
        script.completeSeek()
        #expect(await received(timeline) == ["gameEvent modified toldseek"])
        player.startSeek(to: .seconds(5))
        script.completeSeek()
        #expect(await received(timeline) == ["gameEvent deleted toldseek"])
        #expect(session.cuePoints.isEmpty && timeline.shownEvents.isEmpty)
        player.startSeek(to: .seconds(40))
        script.completeSeek()
        #expect(await received(timeline) == ["gameEvent added corrected"])
        timeline.shutdown()
        #expect(await received(timeline) == [] && session.cuePoints.isEmpty)
        await #expect(throws: TimelineFollowError.over) { try await timeline.subscribeEvents() }
    }

    @Test("the first frame of a seek counts as soon as it is shown, and later events wait for it")
    func arrived() async throws {
        let timeline = GameTimeline(configuration, player: player, source: service)
        let script = try await play()
        script.completeSeek(at: .seconds(20))
        async let subscribed: Void = timeline.subscribeEvents()
        let connection = try await connection()
        var log = TimelineScript()
        try log.put("a", at: 1_005, "one")
        try log.put("b", at: 1_018, "two")
        connection.begin(log.log)
        try await subscribed
        #expect(await received(timeline) == ["gameEvent added one", "gameEvent added two"])
        // For events that arrive during a seek it is unknown whether they belong to the frame after it.
        player.startSeek(to: .seconds(10))
        try log.put("c", at: 1_012, recorded: 1_019, "three")
        connection.say(.changes(Array(log.log.changes(since: SequenceNumber(2)))))
        await wait(for: timeline, 3)
        #expect(await received(timeline) == [])
        // There is not enough data to continue, but the frame is visible.
        script.arrive()
        #expect(await received(timeline) == ["gameEvent deleted twoseek"])
        script.completeSeek()
        #expect(await received(timeline) == [])
        player.startSeek(to: .milliseconds(19_500))
        script.arrive()
        #expect(await received(timeline) == ["gameEvent added three", "gameEvent added two"])
        timeline.shutdown()
    }

    @Test("nothing is requested before the subscription, and a spoiler reports everything at once")
    func spoiler() async throws {
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: "NHL", gameId: "1", spoiler: true), player: player, source: service)
        let events = timeline.events()
        async let subscribed: Void = timeline.subscribeEvents()
        try await connection().begin(try game())
        try await subscribed
        #expect(await received(timeline) == ["gameInfo unknown Arena", "gameEvent added corrected"])
        var lines: [String] = []
        for await delivery in events {
            lines.append(delivery.line)
            if lines.count == 2 { break }
        }
        #expect(lines == ["unknown game Arena", "added goal corrected"])
        // The positions are known with the first frame.
        let script = try await play()
        script.completeSeek(at: .seconds(1))
        #expect(await received(timeline) == [])
        #expect(player.session?.cuePoints.map(\.position) == [.at(.seconds(11))])
        timeline.shutdown()
    }

    @Test("a reconnect sends what is known and receives nothing twice, and another log starts over")
    func resumed() async throws {
        let timeline = GameTimeline(configuration, player: player, source: service)
        let script = try await play()
        script.completeSeek(at: .seconds(30))
        var log = TimelineScript()
        try log.put("a", at: 1_001, "one")
        async let subscribed: Void = timeline.subscribeEvents()
        let first = try await connection()
        first.begin(log.log)
        try await subscribed
        #expect(await received(timeline) == ["gameEvent added one"])
        first.end(.unreachable("killed"))
        try log.put("b", at: 1_002, "two")
        let second = try await connection()
        #expect(second.since == 1 && second.log == "log")
        // Known revisions arrive again, as from a service that does not know the client's state.
        second.say(.begin(TimelineLogID("log"), newest: log.log.newest, from: .none))
        second.say(.changes(log.log.revisions))
        await wait(for: timeline, 2)
        #expect(await received(timeline) == ["gameEvent added two"])
        second.say(.behind(newest: SequenceNumber(5)))
        second.end()
        // A gap is detected, and everything is requested again.
        let third = try await connection()
        #expect(third.since == 2)
        third.say(.begin(TimelineLogID("log"), newest: SequenceNumber(9), from: SequenceNumber(2)))
        third.say(
            .changes([
                TimelineRevision(
                    number: SequenceNumber(9), at: TimelineScript.time(1), recordedAt: TimelineScript.time(1),
                    change: .deleted(try TimelineEventID("a")))
            ]))
        let fourth = try await connection()
        #expect(fourth.since == 0 && fourth.log == nil)
        #expect(await received(timeline) == ["gameEvent deleted twoseek", "gameEvent deleted oneseek"])
        fourth.begin(log.log, as: "log")
        await wait(for: timeline, 2)
        #expect(await received(timeline) == ["gameEvent added one", "gameEvent added two"])
        fourth.end()
        // The service lost its disk and starts another log.
        var other = TimelineScript()
        try other.put("c", at: 1_003, "three")
        let fifth = try await connection()
        #expect(fifth.log == "log")
        fifth.begin(other.log, as: "another")
        await wait(for: timeline, 1)
        #expect(
            await received(timeline) == [
                "gameEvent deleted twoseek", "gameEvent deleted oneseek", "gameEvent added three",
            ])
        timeline.shutdown()
    }

    private func wait(for timeline: GameTimeline, _ newest: Int) async {
        while timeline.newest.value != newest, !Task.isCancelled { await Task.yield() }
    }

    @Test("an unknown game or a missing answer is reported, and can be retried")
    func refused() async throws {
        let none = GameTimeline(configuration, player: player, source: ScriptedTimelines(exists: false))
        #expect(await !none.canSubscribeEvents())
        let timeline = GameTimeline(configuration, player: player, source: service)
        for trouble in [TimelineFollowError.noGame, .unreachable("no answer"), .refused("no")] {
            async let subscribed: Void = timeline.subscribeEvents()
            try await connection().end(trouble)
            do {
                try await subscribed
                Issue.record("subscribed")
            } catch {
                #expect(error as? TimelineFollowError == trouble)
            }
        }
        let nameless = GameTimeline(
            TimelineConfiguration(leagueName: "", gameId: "1"), player: player, source: service)
        #expect(await !nameless.canSubscribeEvents())
        await #expect(throws: TimelineFollowError.self) { try await nameless.subscribeEvents() }
    }

    @Test("another video withdraws everything, and its own times apply")
    func anotherVideo() async throws {
        let timeline = GameTimeline(configuration, player: player, source: service)
        let script = try await play()
        script.completeSeek(at: .seconds(20))
        async let subscribed: Void = timeline.subscribeEvents()
        try await connection().begin(try game())
        try await subscribed
        #expect(await received(timeline) == ["gameInfo unknown Arena", "gameEvent added corrected"])
        player.set(video: Video("https://a.example/film.mp4"), play: true)
        #expect(await received(timeline) == ["gameEvent deleted correctedseek"])
        // There is no time for its frames.
        let film = try await scripts.last(player)
        film.open(.film(10))
        film.completeSeek(at: .seconds(1))
        #expect(await received(timeline) == [])
        timeline.shutdown()
    }

    @Test("a subscription ends with its scope")
    func scope() async throws {
        let timeline = GameTimeline(configuration, player: player, source: service)
        let script = try await play()
        script.completeSeek(at: .seconds(20))
        let game = try game()
        async let lines = timeline.withSubscription { events in
            var lines: [String] = []
            for await delivery in events {
                lines.append(delivery.line)
                if lines.count == 2 { break }
            }
            return lines
        }
        try await connection().begin(game)
        #expect(try await lines == ["unknown game Arena", "added goal corrected"])
        await #expect(throws: TimelineFollowError.over) { try await timeline.subscribeEvents() }
    }
}
