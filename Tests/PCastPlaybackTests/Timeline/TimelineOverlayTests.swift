import Foundation
import PCastCore
import PCastJSON
import PCastOverlay
import Testing

@testable import PCastPlayback
@testable import PCastTimeline

@Suite("A timeline for the pages of an overlay")
struct TimelineOverlayTests {
    /// The messages to a page, except those of the bridge itself.
    private final class Page: Sendable {
        private let overlay: Overlay
        private let id: OverlayPage.ID

        init(_ overlay: Overlay) throws {
            self.overlay = overlay
            id = overlay.openPage(isController: true) { _ in }
            overlay.page(id, message: OverlayEnvelope("bridge.ready", [:], sequence: 1, epoch: 0).text)
        }

        /// Returns the messages since the last call as lines, such as `added goal 1011000`.
        func take() throws -> [String] {
            var lines: [String] = []
            while case .text(let text)? = overlay.takeOutgoing(for: id) {
                let envelope = try OverlayEnvelope(text: text)
                guard envelope.event.hasPrefix("timeline.") || envelope.event == "cue.passed" else { continue }
                let fields = envelope.metadata
                var words = [String(envelope.event.dropFirst("timeline.".count))]
                if let events = fields["events"]?.array {
                    words.append(events.compactMap { $0.object?["id"]?.string }.joined(separator: ","))
                    if let parts = fields["parts"]?.integer, parts > 1 { words.append("of \(parts)") }
                    if fields["game"] != nil { words.append("with the game") }
                }
                for name in ["id", "title", "reason", "venue"] {
                    if let word = fields[name]?.string { words.append(word) }
                }
                lines.append(words.joined(separator: " "))
            }
            return lines
        }
    }

    private let scripts = ScriptedPipelines()
    private let service = ScriptedTimelines()

    private func wait(_ player: Player, _ timeline: GameTimeline, _ overlay: Overlay) async {
        await player.settled()
        await timeline.settled()
        await overlay.settled()
    }

    @Test("pages receive what the viewer receives and loses, and late pages receive everything known")
    func forwardsEventsToPages() async throws {
        let player = Player(scripts.factory)
        let overlay = try Overlay(
            program: "final", player: PlayerOverlayPlugin(player), center: NotificationCenter())
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player, source: service)
        overlay.load()
        overlay.use(TimelineOverlayPlugin(timeline))
        player.set(video: Video("https://a.example/live.m3u8"), play: true)
        let script = try await scripts.last(player)
        script.open(.datedProgramme)
        script.completeSeek(at: .seconds(10))
        let first = try Page(overlay)
        await wait(player, timeline, overlay)
        #expect(try first.take() == ["snapshot "])
        async let subscribed: Void = timeline.subscribeEvents()
        let connection = try #require(await service.connections.first { _ in true })
        var log = TimelineScript()
        try log.describe("Arena", recorded: 900)
        try log.put("goal", at: 1_011, recorded: 1_011.25, "told")
        try log.put("goal", at: 1_011, recorded: 1_013, "corrected")
        for index in 0..<66 { try log.put("many-\(index)", at: 1_020 + Double(index) / 10) }
        connection.begin(log.log)
        try await subscribed
        await wait(player, timeline, overlay)
        #expect(try first.take() == ["game Arena"])
        script.run(1.3)
        await wait(player, timeline, overlay)
        #expect(try first.take() == ["added goal told"])
        let second = try Page(overlay)
        await wait(player, timeline, overlay)
        #expect(try second.take() == ["snapshot goal with the game"])
        script.run(2)
        await wait(player, timeline, overlay)
        for page in [first, second] { #expect(try page.take() == ["modified goal corrected"]) }
        player.startSeek(to: .seconds(5))
        script.completeSeek()
        await wait(player, timeline, overlay)
        for page in [first, second] { #expect(try page.take() == ["deleted goal seek"]) }
        // So many events are sent as a whole, because pages would otherwise fall behind.
        player.startSeek(to: .seconds(40))
        script.completeSeek()
        await wait(player, timeline, overlay)
        let all = try first.take()
        let ids = ((0..<66).reversed().map { "many-\($0)" } + ["goal"]).joined(separator: ",")
        #expect(all == ["snapshot \(ids) with the game"])
        #expect(player.session?.cuePoints.count == 67)
        timeline.shutdown()
        await wait(player, timeline, overlay)
        #expect(try first.take() == ["snapshot "])
        overlay.destroy()
    }

    @Test("The score block interprets the fields that it knows and leaves the rest")
    func scores() throws {
        func fields(_ text: String) throws -> String {
            var known = TimelinePageState()
            let message = known.take(
                TimelineDelivery(
                    subject: .event(try TimelineEventID("e"), try GameEvent(parsing: Array(text.utf8))), type: .added,
                    number: SequenceNumber(1), at: WallTime(millisecondsSinceEpoch: 1),
                    gate: WallTime(millisecondsSinceEpoch: 1)))
            return try #require(try OverlayReport(message)).metadata
        }
        let hockey = try fields(#"{"type":"goal","scorecard":{"total":{"home":"03","visitor":"2"}}}"#)
        #expect(hockey.contains(#""home":3,"away":2,"event""#))
        let cricket = try fields(
            #"{"type":"wicket","scorecard":{"overs":"18.2","total":{"home":"187/4","visitor":""}}}"#)
        #expect(cricket.contains(#""kind":"wicket""#) && cricket.contains(#""home":"187/4","away":"","event""#))
        #expect(cricket.contains(#""overs":"18.2""#))
        #expect(try !fields(#"{"type":"tip_off","scorecard":{"sets":[]}}"#).contains(#""home":"#))
    }

    @Test("events that are too long for a page are sent without their text, and many in parts")
    func long() throws {
        var known = TimelinePageState()
        for index in 0..<400 {
            var event = GameEvent(
                ["x": .string(String(repeating: "x", count: index == 0 ? 40_000 : 2_000))])
            event.description = index == 1 ? String(repeating: "y", count: 60_000) : "short"
            let message = known.take(
                TimelineDelivery(
                    subject: .event(try TimelineEventID("e\(index)"), event), type: .added,
                    number: SequenceNumber(index + 1), at: WallTime(millisecondsSinceEpoch: Int64(index)),
                    gate: WallTime(millisecondsSinceEpoch: Int64(index))))
            let report = try #require(try OverlayReport(message))
            #expect(report.event == "timeline.added" && report.metadata.utf8.count < 40_000)
            #expect(report.metadata.contains("\"event\":{") == (index > 1))
        }
        let parts = known.snapshot
        #expect(parts.count > 10)
        // The newest events are sent, as many as a page has capacity for.
        let reports = try parts.compactMap { try OverlayReport($0) }
        #expect(reports.allSatisfy { $0.metadata.utf8.count < 60_000 })
        #expect(reports.reduce(0) { $0 + $1.metadata.utf8.count } < 900_000)
        #expect(reports[0].metadata.contains("\"e399\"") && !reports.contains { $0.metadata.contains("\"e0\"") })
    }
}
