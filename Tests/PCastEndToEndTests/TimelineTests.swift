import Foundation
import PCastCore
import PCastPlayback
import PCastTimeline
import Testing

extension EndToEnd {
    /// A game's timeline from its producer to its viewer, without the page.
    @Suite("Timelines", .timeLimit(.minutes(5)), .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasPython))
    struct TimelineTests {
        /// Records the notifications, with the capture time of the frame displayed then.
        private final class Witness: EventSendableDelegate {
            struct Told: Sendable {
                var delivery: TimelineDelivery
                var reach: WallTime?
            }

            let received = Awaited<Told>()
            private let screen: StampScreen
            private let programme: LiveProgramme

            init(_ screen: StampScreen, of programme: LiveProgramme) {
                (self.screen, self.programme) = (screen, programme)
            }

            func didReceive(
                event: StreamTimelineEvent, suggestedAction: SuggestedAction,
                metadata: (any StreamTimelineMetadata)?
            ) {
                guard let data = metadata as? TimelineEventMetadata else { return }
                let reach = programme.reach(of: screen.sights.values.suffix(2))
                received.add(Told(delivery: data.delivery, reach: reach))
            }

            /// The events as lines.
            var lines: [String] {
                received.values.compactMap { received in
                    received.delivery.eventID.map {
                        "\(received.delivery.type) \($0)\(received.delivery.reason.map { " \($0)" } ?? "")"
                    }
                }
            }

            /// Waits until a notification has occurred a number of times.
            func heard(_ line: String, times count: Int = 1) async -> Bool {
                await received.first { [self] _ in lines.count { $0 == line } >= count } != nil
            }
        }

        @Test("events are delivered with their frame, also after seeks and after the platform was killed")
        func game() async throws {
            try await TestWorkspace.run { workspace in
                let ground = try await TimelineGround.start(in: workspace)
                try await ground.add("--id", "start", "--type", "period_start")
                let programme = try await LiveProgramme.make(head: 20, in: workspace)
                let screen = StampScreen()
                let player = Player(.media(playsAudio: false, shownOn: screen))
                screen.watch(player)
                let recorder = Witness(screen, of: programme)
                player.eventDelegate = recorder
                let timeline = GameTimeline(
                    TimelineConfiguration(leagueName: TimelineGround.league, gameId: TimelineGround.game),
                    player: player,
                    source: TimelinePlatform(uri: await ground.uri, token: try await ground.token()))
                #expect(await timeline.canSubscribeEvents())
                try await timeline.subscribeEvents()
                player.set(video: Video(programme.address), play: true)
                #expect(await recorder.heard("added start"))

                // The event is now, which is some seconds ahead of this viewer.
                try await ground.add("--id", "goal", "--type", "goal", "--team", "home")
                try await ground.add("--id", "wrong", "--type", "penalty")
                try await ground.add("--id", "wrong", "--delete")
                // The platform is killed as soon as it has confirmed the events, and restarted at the same address.
                try await ground.killAndRestart()
                #expect(await recorder.heard("added goal"))
                try await ground.add("--id", "goal", "--update", "--description", "A. Scorer")
                #expect(await recorder.heard("modified goal"))
                // If an event is deleted soon, either both notifications arrive or none. Each other event arrives once
                // and in order.
                let lines = recorder.lines
                #expect(lines.filter { !$0.contains("wrong") } == ["added start", "added goal", "modified goal"])
                let wrong = lines.filter { $0.contains("wrong") }
                #expect(wrong.isEmpty || wrong == ["added wrong", "deleted wrong"])
                #expect(timeline.newest == SequenceNumber(5))

                // The seeks lead to before the correction, before the goal, and to the edge.
                let received = recorder.received.values
                let corrected = try #require(received.last { $0.delivery.type == .modified })
                let goal = try #require(received.first { $0.delivery.eventID?.description == "goal" })
                try await player.seek(to: corrected.delivery.gate - .milliseconds(100))
                #expect(await recorder.heard("modified goal seek"))
                try await player.seek(to: goal.delivery.gate - .milliseconds(500))
                #expect(await recorder.heard("deleted goal seek"))
                #expect(await recorder.heard("added goal", times: 2))
                try await player.seekToLiveEdge()
                #expect(await recorder.heard("modified goal", times: 2))
                #expect(player.session?.cuePoints.contains { $0.type == "timeline.goal" } == true)
                #expect(timeline.shownEvents.map(\.id) == ["start", "goal"])
                #expect(timeline.shownEvents.last?.description == "A. Scorer")

                // No event preceded its frame.
                for received in recorder.received.values
                where received.delivery.eventID != nil && received.delivery.reason == nil {
                    let reach = try #require(received.reach)
                    #expect(reach >= received.delivery.gate, "\(received.delivery) at \(reach)")
                }
                timeline.shutdown()
                player.reset()
                await player.settled()
            }
        }

        @Test("pcast play --timeline-start sets the capture time of a plain file, and events follow the playhead")
        func start() async throws {
            try await TestWorkspace.run { workspace in
                // The player follows the timeline before the film ends, also on a busy machine.
                let film = try await Film.make(seconds: 6, in: workspace)
                let ground = try await TimelineGround.start(in: workspace)
                // The events were recorded long after the game.
                try await ground.add("--id", "wicket", "--type", "wicket", "--at", "2026-05-01T12:00:02.000Z")
                try await ground.add("--id", "behind", "--type", "wicket", "--at", "2026-05-01T12:00:30.000Z")
                let player = try workspace.pcast(
                    "play", film.file.path, "--render", "null", "--timeline",
                    "\(TimelineGround.league)/\(TimelineGround.game)", "--timeline-platform", await ground.uri,
                    "--timeline-start", "2026-05-01T12:00:00.000Z")
                try await player.expectExitStatus(0)
                let received = player.events("timeline")
                #expect(received.map { $0["id"].text } == ["wicket"])
                #expect(received.first?["change"].text == "added" && received.first?["type"].text == "wicket")
                #expect(received.first?["gate"].text == "2026-05-01T12:00:02.000Z")
                // Each later position is at the event or after it, however many of them a busy machine reports.
                let lines = player.output.lines.values.compactMap(JSON.init(line:))
                let place = try #require(lines.firstIndex { $0["event"].text == "timeline" })
                let later = lines[place...].compactMap { $0["event"].text == "position" ? $0["position"].number : nil }
                #expect(later.allSatisfy { $0 >= 1.9 }, "\(later)")
                #expect(
                    player.events("position").first?["timecode"].text?.hasPrefix("2026-05-01T12:00:0") == true)
            }
        }

        @Test("an archived game is imported from its log, and followed by a program")
        func archive() async throws {
            try await TestWorkspace.run { workspace in
                let ground = try await TimelineGround.start(in: workspace)
                let log = """
                    {"log":"old","league":"NHL","game":"1"}
                    {"seq":1,"at":1690000000000,"recordedAt":1690000001000,"change":"added","id":"a","event":{"id":"a"}}
                    {"seq":2,"at":1690000000000,"recordedAt":1690000002000,"change":"modified","id":"a","event":\
                    {"id":"a","type":"goal"}}
                    {"seq":3,"at":1690000003000,"recordedAt":1690000003000,"change":"deleted","id":"a"}

                    """
                try log.write(toFile: workspace.path("game.jsonl"), atomically: true, encoding: .utf8)
                try await ground.run(["import", "NHL", "1", workspace.path("game.jsonl")])
                let follower = try workspace.pcast(
                    "timeline", "follow", "NHL", "1", "--uri", await ground.uri, "--application",
                    LocalPlatform.application)
                _ = try await follower.event("change") { $0["seq"].number == 3 }
                try await ground.run(["add", "NHL", "1", "--id", "b", "--type", "goal"])
                _ = try await follower.event("change") { $0["seq"].number == 4 }
                // Recorded events survive the end of the process, and none arrives twice.
                try await ground.killAndRestart()
                try await ground.run(["add", "NHL", "1", "--id", "c", "--type", "penalty"])
                _ = try await follower.event("change") { $0["seq"].number == 5 }
                follower.send(SIGINT)
                try await follower.expectExitStatus(0)
                let changes = follower.events("change")
                #expect(changes.map { $0["change"].text } == ["added", "modified", "deleted", "added", "added"])
                #expect(changes.compactMap { $0["seq"].number } == [1, 2, 3, 4, 5])
                #expect(changes.first?["recordedAt"].text == "2023-07-22T04:26:41.000Z")
                let nothing = try workspace.pcast(
                    "timeline", "follow", "NHL", "none", "--uri", await ground.uri, "--application",
                    LocalPlatform.application)
                try await nothing.expectExitStatus(4)
            }
        }
    }
}
