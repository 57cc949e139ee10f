import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import PCastPlayback
import PCastTimeline
import Testing

extension EndToEnd {
    /// A game's timeline on a page over its video: frames state what the page may show, and the page's elements show
    /// it.
    @Suite(
        "A timeline on an overlay's page", .timeLimit(.minutes(10)),
        .enabled(if: ThisMachine.hasChromium && ThisMachine.hasFFmpeg && ThisMachine.hasPython))
    struct TimelinePageTests {
        /// The page's script. It records each event that appears in the list, with the time of day, and the number of
        /// marks.
        private static let watch = """
            window.notes = [], window.standing = new Set(),
            new MutationObserver(() => {
              const ids = new Set([...document.querySelectorAll('#event-list button')].map((b) => b.dataset.id));
              for (const id of ids) if (!standing.has(id)) notes.push({ id, at: Date.now() });
              window.standing = ids;
            }).observe(document.querySelector('#event-list'), { childList: true, subtree: true }), true
            """

        private static let ids =
            "[...document.querySelectorAll('#event-list button')].map((b) => b.dataset.id).sort().join(' ')"

        @Test("the page shows events up to the displayed frame, and withdraws them on seeks")
        func story() async throws {
            try await TestWorkspace.run { workspace in
                let programme = try await LiveProgramme.make(head: 40, in: workspace)
                let ground = try await TimelineGround.start(in: workspace)
                let log = try Self.past(of: programme)
                try await Self.describe(ground, workspace)
                try await ground.bring(log)
                let stage = try await OverlayTestSetup(StampedProgramme(address: programme.address))
                let timeline = GameTimeline(
                    TimelineConfiguration(leagueName: TimelineGround.league, gameId: TimelineGround.game),
                    player: stage.player,
                    source: TimelinePlatform(uri: await ground.uri, token: try await ground.token()))
                stage.overlay.use(TimelineOverlayPlugin(timeline))
                try await timeline.subscribeEvents()
                let browser = try await Browser.start(in: workspace)
                try await browser.open(stage.address)
                try await stage.heard(.easeLiveReady)
                try await browser.evaluate(Self.watch)
                try await browser.wait(for: "document.querySelector('#home-name').textContent === 'BER'")
                // The video begins after the events of the past, later on a busy machine.
                _ = await stage.screen.sights.first()
                while timeline.shownEvents.isEmpty, !Task.isCancelled {
                    try await ContinuousClock().sleep(for: .milliseconds(20))
                }
                try await agrees(timeline, browser)

                try await live(ground, workspace, browser)
                try await goingAbout(stage, programme, timeline, browser)
                try await reload(timeline, stage, browser)
                try await stage.player.seekToLiveEdge()
                stage.player.play()
                try await restart(ground, browser)
                try await expectNothingEarly(stage, programme, timeline, browser)
                if let folder = ProcessInfo.processInfo.environment["PCAST_SCREENSHOTS"] {
                    try await browser.screenshot("\(folder)/timeline.png")
                }
                #expect(try await browser.problems() == [])
                timeline.shutdown()
                try await browser.wait(for: "document.querySelectorAll('#event-list button').length === 0")
                try await browser.end()
                await stage.close()
            }
        }

        // MARK: The feed

        private static func describe(_ ground: TimelineGround, _ workspace: TestWorkspace) async throws {
            let info = #"""
                {"venue_name":"Eisstadion","teams":[{"type":"home","code":"BER","name":"Berlin"},
                {"type":"visitor","code":"ZRH","name":"Zürich"}]}
                """#
            let (file, nothing) = (workspace.path("info.json"), workspace.path("nothing.jsonl"))
            try info.write(toFile: file, atomically: true, encoding: .utf8)
            try "".write(toFile: nothing, atomically: true, encoding: .utf8)
            try await ground.run(["import", TimelineGround.league, TimelineGround.game, nothing, "--info", file])
        }

        /// Creates an event every two seconds, of which some are corrected or deleted, and goals with the score after
        /// them.
        private static func past(of programme: LiveProgramme) throws -> TimelineLog {
            var log = TimelineLog()
            func record(_ change: TimelineRequest.Change, _ second: Double) throws {
                let now = programme.began + TimeSpan(seconds: second)
                if let revision = try log.revision(for: TimelineRequest(change), at: now) { try log.append(revision) }
            }
            var goals = 0
            for index in 0..<12 {
                let second = 2.0 * Double(index) + 1
                let id = try TimelineEventID("past-\(index)")
                var event = GameEvent()
                event.timestamp = Timestamp.text(programme.began + TimeSpan(seconds: second))
                event.type = index % 3 == 0 ? .goal : .penalty
                event.teamInvolved = index % 2 == 0 ? .home : .visitor
                event.period = "1"
                if index % 3 == 0 {
                    goals += 1
                    var (card, total) = (Scorecard(JSONObject()), Score(JSONObject()))
                    (total.home, total.visitor) = ("\(goals)", "0")
                    card.total = total
                    event.scorecard = card
                    event.description = "\(goals):0"
                }
                // The event is recorded half a second late.
                try record(.put(id, event), second + 0.5)
                if index % 4 == 1 { try record(.delete(id), second + 4.5) }
                if index % 4 == 2 {
                    var patch = JSONObject()
                    patch["description"] = .string("Two minutes")
                    try record(.patch(id, patch), second + 3.5)
                }
            }
            return log
        }

        // MARK: The chapters

        /// Expects that the page shows exactly the events that the viewer may know.
        private func agrees(_ timeline: GameTimeline, _ browser: Browser) async throws {
            // During playback, the viewer may know another event at any moment.
            let end = ContinuousClock.now + .timeout
            while true {
                let wanted = timeline.shownEvents.compactMap(\.id).sorted().joined(separator: " ")
                let shown = try await browser.evaluate(Self.ids).text
                if shown == wanted { return }
                try #require(ContinuousClock.now < end, "the page shows “\(shown ?? "")” of “\(wanted)”")
                try await ContinuousClock().sleep(for: .milliseconds(20))
            }
        }

        /// Events that happen now are shown with their frame.
        private func live(_ ground: TimelineGround, _ workspace: TestWorkspace, _ browser: Browser) async throws {
            try await ground.add("--id", "now", "--type", "goal", "--team", "home", "--description", "Now!")
            try await browser.wait(for: "standing.has('now')")
            // For another sport the board shows the known fields as they are written.
            let event = #"{"type":"fine_leg","scorecard":{"total":{"home":"5/1","visitor":"0"},"overs":"0.4"}}"#
            try event.write(toFile: workspace.path("event.json"), atomically: true, encoding: .utf8)
            try await ground.add("--id", "cricket", "--event", workspace.path("event.json"))
            try await browser.wait(for: "standing.has('cricket')")
            try await browser.wait(for: "document.querySelector('#home-score').textContent === '5/1'")
            try await browser.wait(
                for: "document.querySelector('[data-id=cricket]').textContent.includes('fine leg')")
        }

        /// Seeks back in the game, after which no later events are in the list or on the board.
        private func goingAbout(
            _ stage: OverlayTestSetup, _ programme: LiveProgramme, _ timeline: GameTimeline, _ browser: Browser
        ) async throws {
            stage.player.pause()
            for (second, score) in [(9.0, "2"), (2.0, "1"), (21.0, "4"), (0.5, "0"), (14.2, "3")] {
                try await stage.player.seek(to: programme.began + TimeSpan(seconds: second))
                await stage.player.settled()
                await timeline.settled()
                try await agrees(timeline, browser)
                try await browser.wait(for: "document.querySelector('#home-score').textContent === '\(score)'")
                let reach = try #require(programme.reach(of: stage.screen.sights.values.suffix(2)))
                for event in timeline.shownEvents { #expect(try #require(event.moment) <= reach) }
                #expect(try await browser.evaluate("document.body.innerHTML.includes('past-11')") == .bool(false))
                try await browser.wait(
                    for: "document.querySelectorAll('#marks i').length === \(timeline.shownEvents.count)")
            }
        }

        /// Reloads the page, which then has the viewer's events.
        private func reload(_ timeline: GameTimeline, _ stage: OverlayTestSetup, _ browser: Browser) async throws {
            // The tab keeps its token.
            try await browser.open(stage.viewerAddress)
            try await browser.wait(for: "document.querySelector('#home-name').textContent === 'BER'")
            try await agrees(timeline, browser)
            #expect(
                try await browser.evaluate("wire.received.filter((m) => m.event === 'timeline.snapshot').length")
                    == .number(1))
            try await browser.evaluate(Self.watch)
        }

        /// The feed returns with each event once.
        private func restart(_ ground: TimelineGround, _ browser: Browser) async throws {
            try await browser.wait(for: "standing.has('now')")
            try await ground.add("--id", "before", "--type", "penalty", "--team", "visitor")
            try await ground.killAndRestart()
            try await ground.add("--id", "after", "--type", "goal", "--team", "visitor", "--description", "A late one")
            try await browser.wait(for: "standing.has('before') && standing.has('after')")
            for id in ["before", "after"] {
                let count = try await browser.evaluate(
                    "wire.received.filter((m) => m.event === 'timeline.added' && m.metadata.id === '\(id)').length")
                #expect(count.number == 1)
            }
            // Cue points of the timeline reach the page only as timeline events.
            #expect(
                try await browser.evaluate("wire.received.filter((m) => m.event === 'cue.passed').length")
                    == .number(0))
        }

        /// Expects that each event appeared on the page after its frame was displayed.
        private func expectNothingEarly(
            _ stage: OverlayTestSetup, _ programme: LiveProgramme, _ timeline: GameTimeline, _ browser: Browser
        ) async throws {
            let gates = Dictionary(
                timeline.shownEvents.compactMap { event in event.id.flatMap { id in event.moment.map { (id, $0) } } },
                uniquingKeysWith: { first, _ in first })
            let sights = stage.screen.sights.values
            let notes = try await browser.evaluate("notes").list
            #expect(notes.contains { $0["id"].text == "after" })
            for note in notes {
                guard let id = note["id"].text, let at = note["at"].number, let gate = gates[id] else { continue }
                let index = try #require(sights.lastIndex { Double($0.shown.millisecondsSinceEpoch) <= at })
                let reach = try #require(programme.reach(of: Array(sights[...index].suffix(2))))
                #expect(reach >= gate, "\(id) was shown at \(reach), and happened at \(gate)")
            }
        }
    }
}
