import PCastCore
import PCastJSON
import PCastPlayback

/// The timeline of `pcast play --timeline`, whose events are reported when the video reaches them.
struct PlayTimeline: Sendable {
    /// The options of the timeline.
    struct Plan: Sendable {
        var game: TimelineGame
        var platform: TimelinePlatform
        /// Whether events are reported as soon as they are known.
        var spoiler: Bool
    }

    private static let wait = TimeSpan.seconds(2 as Int64)

    private let timeline: GameTimeline
    private let player: Player

    init(_ plan: Plan, of player: Player) {
        self.player = player
        timeline = GameTimeline(
            TimelineConfiguration(leagueName: plan.game.league, gameId: plan.game.game, spoiler: plan.spoiler),
            player: player, source: plan.platform)
    }

    /// The plugin that sends the timeline to the pages of an overlay.
    var plugin: TimelineOverlayPlugin { TimelineOverlayPlugin(timeline) }

    /// Follows the timeline until the task is cancelled. It waits for a game without events and for an unreachable
    /// platform. If the platform rejects the request, that is reported and playback continues.
    ///
    /// - Throws: `CancellationError`.
    func follow(_ console: Console) async throws {
        let events = timeline.events()
        defer { timeline.shutdown() }
        try await withThrowingTaskGroup { group in
            group.addTask { try await subscribe(console) }
            group.addTask {
                for await delivery in events { report(delivery, console) }
            }
            group.addTask { await compareClocks(console) }
            defer { group.cancelAll() }
            while try await group.next() != nil {}
        }
    }

    /// Reports an HLS encoder whose clock is not that of its server, once for each item.
    private func compareClocks(_ console: Console) async {
        var reported: PlaybackSession.ID?
        for await _ in player.positions() {
            guard let session = player.session, session.id != reported, let difference = session.encoderClockDifference
            else { continue }
            reported = session.id
            console.event("encoderClock", ["difference": .measured(difference.seconds)])
            let (amount, side) = (abs(difference.seconds), difference > .zero ? "ahead of" : "behind")
            console.warn(
                "The clock of the video's encoder is at least \(Int((amount * 1000).rounded())) ms \(side) that of its "
                    + "server: events of the timeline appear with other frames.")
        }
    }

    private func subscribe(_ console: Console) async throws {
        var reported: TimelineFollowError?
        while !Task.isCancelled {
            do {
                try await timeline.subscribeEvents()
                return console.event("timelineFollowed", ["newest": .count(timeline.newest.value)])
            } catch let failure as TimelineFollowError {
                if case .refused = failure {
                    console.event("timelineRefused", ["reason": .string("\(failure)")])
                    return console.warn("The timeline is unavailable: \(failure)")
                }
                if failure == .over { return }
                if failure != reported { console.warn("Waiting for the timeline: \(failure)") }
                reported = failure
            }
            try await Task.sleep(for: Self.wait.duration)
        }
    }

    private func report(_ delivery: TimelineDelivery, _ console: Console) {
        let event = delivery.event
        // A scorecard has its total in the sport's own notation.
        let total = event?.scorecard?.total
        console.event(
            "timeline",
            [
                "change": .string(delivery.info == nil ? delivery.type.rawValue : "info"),
                "id": .text(delivery.eventID?.description), "type": .text(event?.type?.rawValue),
                "description": .text(event?.description ?? delivery.info?.venueName),
                "at": .string(delivery.at.timestampText), "gate": .string(delivery.gate.timestampText),
                "reason": .text(delivery.reason?.rawValue), "home": .text(total?.home),
                "visitor": .text(total?.visitor),
            ])
        guard let event, delivery.type == .added else { return }
        let words = [event.type?.rawValue, event.description].compactMap { $0 }
        let score = [total?.home, total?.visitor].compactMap { $0 }.joined(separator: ":")
        guard !words.isEmpty || !score.isEmpty else { return }
        console.inform("· " + words.joined(separator: ": ") + (score.isEmpty ? "" : " (\(score))"))
    }

    /// Ends the timeline.
    func end() { timeline.shutdown() }
}
