import Foundation
import PCastCore
import PCastPlayback
import PCastTimeline
import Synchronization

/// A player of a game with its timeline, which records the frame on the screen at each notification.
final class GameWindow: EventSendableDelegate {
    struct Told: Sendable {
        var line: String
        /// The number of the frame on the screen; nil before the first one.
        var frame: Int?
        var moment: WallTime
    }

    let name: String
    let player: Player
    private let screen = StampScreen()
    private let told = Awaited<Told>()
    private let timeline = Mutex<GameTimeline?>(nil)
    private let goal = Mutex<WallTime?>(nil)

    init(_ name: String) {
        self.name = name
        player = Player(.media(isHeard: false, shownOn: screen))
        screen.watch(player)
        player.eventDelegate = self
    }

    func didReceive(
        event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?
    ) {
        guard let data = metadata as? TimelineEventMetadata, let id = data.delivery.eventID else { return }
        let reason = data.delivery.reason.map { " \($0)" } ?? ""
        told.add(Told(line: "\(data.type) \(id)\(reason)", frame: frame, moment: .now))
    }

    // MARK: Playback

    /// Plays a stream with the timeline of its platform.
    func open(_ address: String) async throws {
        player.set(video: Video(address), play: true)
        try await follow(nil)
    }

    /// Opens the beginning of a recording, whose wall clock is given by its frames. `moment` is a time near those of
    /// its frames.
    func open(recording: String, near moment: WallTime, of uri: String) async throws {
        player.set(video: Video(recording), play: true)
        _ = await screen.sights.first { [screen] _ in screen.sights.values.count >= 30 }
        // A frame is shown when it is due or a little later, and never sooner.
        let offsets = screen.sights.values.compactMap { sight in
            sight.position.map { sight.stamp.captureTime(near: moment) - $0 }
        }
        guard let start = offsets.max() else { throw EndToEndFailure("nothing was shown of \(recording)") }
        player.set(video: Video(recording, wallClock: .start(start)), play: false)
        try await follow(TimelinePlatform(uri: uri))
    }

    private func follow(_ source: TimelinePlatform?) async throws {
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: TimelineGround.league, gameId: TimelineGround.game, spoiler: false),
            player: player, source: source)
        self.timeline.withLock { $0 = timeline }
        guard await timeline.canSubscribeEvents() else {
            throw EndToEndFailure("\(name): \(timeline.subscriptionFailure.map { "\($0)" } ?? "no reason")")
        }
        try await timeline.subscribeEvents()
    }

    /// Seeks, and returns when the frame is on the screen and its events have been reported.
    func seek(to moment: WallTime) async throws {
        try await player.seek(to: moment)
        await player.settled()
        await timeline.withLock { $0 }?.settled()
    }

    func close() async {
        timeline.withLock { $0 }?.shutdown()
        player.reset()
        await player.settled()
    }

    // MARK: Displayed frames

    /// The number of the frame on the screen.
    var frame: Int? { screen.sights.values.last.map { Int($0.stamp.counter) } }

    /// The capture time of the frame on the screen.
    var captured: WallTime? { screen.sights.values.last.map { $0.stamp.captureTime(near: $0.shown) } }

    func hasSeen(frames count: Int) async -> Bool {
        await screen.sights.first { [screen] _ in screen.sights.values.count >= count } != nil
    }

    /// Waits for a frame that was captured at a time or later.
    func hasSeen(_ moment: WallTime) async -> Bool {
        await screen.sights.first { $0.stamp.captureTime(near: moment) >= moment } != nil
    }

    /// Waits until an event has been reported.
    func sees(_ line: String, of moment: WallTime) async throws {
        goal.withLock { $0 = moment }
        guard await told.first(where: { $0.line == line }) != nil else {
            throw EndToEndFailure("\(name): “\(line)” was not told, but \(lines)")
        }
        // The event's own frame may not be recorded yet.
        _ = await hasSeen(moment)
    }

    /// The notifications in order.
    var lines: [String] { told.values.map(\.line) }

    var knowsGoal: Bool { timeline.withLock { $0 }?.shownEvents.contains { $0.id == "goal" } ?? false }

    /// Returns when a notification came first, the number of the frame on the screen then, and the number of the first
    /// frame that was captured at the goal or later.
    func told(_ line: String) -> (moment: WallTime, frame: Int, own: Int)? {
        guard let goal = goal.withLock({ $0 }), let told = told.values.first(where: { $0.line == line }),
            let frame = told.frame
        else { return nil }
        // The strip contains capture times in whole milliseconds.
        let own = screen.sights.values.first {
            let captured = $0.stamp.captureTime(near: goal)
            return captured >= goal && captured < goal + .seconds(1)
        }
        return own.map { (told.moment, frame, Int($0.stamp.counter)) }
    }
}

extension WallTime {
    /// The current time of this machine.
    static var now: WallTime { WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000)) }
}
