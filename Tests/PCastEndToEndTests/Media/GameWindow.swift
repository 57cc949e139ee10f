import Foundation
import PCastCore
import PCastIO
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

    private struct Goal {
        var id: String
        var moment: WallTime
        /// The number of frames that were shown before it was expected.
        var sights: Int
    }

    let name: String
    let player: Player
    private let screen = StampScreen()
    private let received = Awaited<Told>()
    private let timeline = Mutex<GameTimeline?>(nil)
    private let goal = Mutex<Goal?>(nil)
    private let changed = WakeSignal()
    /// The identifier of the goal for which the display has been kept.
    private let heldFor = Mutex<String?>(nil)

    init(_ name: String) {
        self.name = name
        player = Player(.media(playsAudio: false, shownOn: screen))
        screen.watch(player)
        player.eventDelegate = self
        screen.beforeEachFrame { [weak self] in self?.holdDisplay() }
    }

    /// Keeps the first frame of the goal on the screen until the goal is notified. A busy machine then cannot show the next
    /// frame before the message has come through the queues of the player and the timeline.
    private func holdDisplay() {
        guard let expected = goal.withLock({ $0 }), let captured, captured >= expected.moment,
            heldFor.withLock({ held in
                defer { held = expected.id }
                return held != expected.id
            })
        else { return }
        let end = MonotonicClock.now() + TimeSpan(seconds: Duration.timeout.seconds)
        while goal.withLock({ $0?.id }) == expected.id, !lines.contains("added \(expected.id)"),
            MonotonicClock.now() < end
        {
            changed.wait(until: end)
        }
    }

    func didReceive(
        event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?
    ) {
        guard let data = metadata as? TimelineEventMetadata, let id = data.delivery.eventID else { return }
        let reason = data.delivery.reason.map { " \($0)" } ?? ""
        let line = "\(data.type) \(id)\(reason)"
        received.add(Told(line: line, frame: frame, moment: .now))
        changed.raise()
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
            sight.position.map { sight.stamp.captureTime(near: moment) - TimeSpan($0) }
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

    /// Sets the goal, before a frame of it is shown. An earlier one is not expected any more.
    func expectGoal(_ id: String, at moment: WallTime) {
        goal.withLock { $0 = Goal(id: id, moment: moment, sights: screen.sights.values.count) }
        changed.raise()
    }

    /// Expects no goal any more.
    func expectNoGoal() {
        goal.withLock { $0 = nil }
        changed.raise()
    }

    /// The first notification of the goal; nil if there is none.
    private var goalLine: String? { goal.withLock { $0 }.map { "added \($0.id)" } }

    /// The frames that were shown since the goal is expected.
    private var sights: ArraySlice<StampScreen.Sight> {
        screen.sights.values.dropFirst(goal.withLock { $0 }?.sights ?? 0)
    }

    /// Waits until the goal was notified.
    func seesGoal() async throws {
        guard let line = goalLine, await received.first(where: { $0.line == line }) != nil else {
            throw EndToEndFailure("\(name): “\(goalLine ?? "no goal")” was not told, but \(lines)")
        }
    }

    /// The notifications in order.
    var lines: [String] { received.values.map(\.line) }

    /// Whether an event is among those that the viewer may see.
    func knows(_ id: String) -> Bool { timeline.withLock { $0 }?.shownEvents.contains { $0.id == id } ?? false }

    /// How the goal was notified first.
    struct GoalSight {
        /// When it was notified.
        var moment: WallTime
        /// The number of the frame that was on the screen then.
        var frame: Int
        /// The number of the first frame that was shown and was captured at the goal or later.
        var firstShown: Int
        /// The number of the first frame that was captured at the goal or later, shown or not.
        var own: Int
    }

    /// How the goal was notified first; nil if it was not told, or no frame of it was shown.
    var goalSight: GoalSight? {
        guard let line = goalLine, let goal = goal.withLock({ $0 })?.moment,
            let received = received.values.first(where: { $0.line == line }),
            let frame = received.frame,
            let first = sights.first(where: { $0.stamp.captureTime(near: goal) >= goal })
        else { return nil }
        // The source has an even rate, and counts the frames that it leaves out. The goal is between two frames, because
        // capture times are in whole milliseconds on the screen.
        let ahead = (first.stamp.captureTime(near: goal) - goal).seconds * Double(Self.frameRate)
        let number = Int(first.stamp.counter)
        return GoalSight(moment: received.moment, frame: frame, firstShown: number, own: number - Int(ahead))
    }

    /// The frame rate of the game.
    static let frameRate = 30
}

extension WallTime {
    /// The current time of this machine.
    static var now: WallTime { WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000)) }
}
