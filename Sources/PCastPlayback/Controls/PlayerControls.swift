import PCastCore
import PCastIO
public import PCastOverlay
public import PCastRendering
import Synchronization

/// The built-in controls of a player on a surface: a bar at the lower edge with the position and the state.
///
///     let controls = PlayerControls(on: window)
///     let player = Player(.media(shownOn: controls.surface))
///     controls.attach(player)
///     let overlay = try Overlay(program: "game", player: PlayerOverlayPlugin(player, controls: controls))
///
/// A click on the surface shows or hides the bar, and a key shows it. It hides three seconds after the last click or
/// key while the player plays. ``changes`` reports each change, which an overlay receives as `playerStage`. The
/// application handles the meaning of keys.
public final class PlayerControls: Sendable {
    private struct State {
        var visibility = ControlsVisibility()
        var changes = StreamReaders<OverlayControls>(.newest(64))
        var tasks: [Task<Void, Never>] = []
        var timer: Task<Void, Never>?
        var isClosed = false
    }

    private let controlled: ControlledSurface
    private let state = Mutex(State())

    /// Creates controls that follow the clicks and keys of a surface. The caller keeps the ownership of the surface.
    public init(on surface: any RenderSurface) {
        controlled = ControlledSurface(surface)
        let events = surface.events
        let following = Task { [weak self] in
            for await event in events {
                switch event {
                case .clicked: self?.change { $0.click(at: $1) }
                case .key: self?.change { $0.press(at: $1) }
                case .ready, .resized, .closed, .lost: break
                }
            }
        }
        state.withLock { $0.tasks.append(following) }
    }

    deinit { close() }

    /// The surface for the player, which displays its frames with the controls on the given surface.
    public var surface: any RenderSurface { controlled }

    /// Whether the controls are visible.
    public var isVisible: Bool { state.withLock { $0.visibility.isVisible } }

    /// Shows or hides the controls, for example at the request of an overlay (`bridgeStage`).
    public func setVisible(_ isVisible: Bool) { change { $0.setVisible(isVisible, at: $1) } }

    /// A new stream of all changes of the visibility from now on.
    public var changes: AsyncStream<OverlayControls> { state.withLock { $0.changes.add() } }

    /// Follows a player, whose position the bar shows, and whose state determines when the controls hide.
    public func attach(_ player: Player) {
        let (events, positions) = (player.events(), player.positions())
        let tasks = [
            Task { [weak self, weak player] in
                for await event in events {
                    guard let self, let player else { return }
                    if case .stateChanged = event.kind { followState(of: player) }
                }
            },
            Task { [weak self, weak player] in
                for await _ in positions {
                    guard let self, let player else { return }
                    controlled.setProgress(player.shownProgress)
                }
            },
        ]
        state.withLock { $0.tasks += tasks }
        followState(of: player)
    }

    /// Ends following and hides the controls permanently. It has no effect if it was called before.
    public func close() {
        let tasks = state.withLock { state in
            state.isClosed = true
            state.timer?.cancel()
            state.changes.finish()
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        controlled.setVisible(false)
    }

    /// Applies the state of a player.
    private func followState(of player: Player) {
        let isPlaying = if case .playing = player.state { true } else { false }
        controlled.setPlaying(isPlaying)
        change { $0.setPlaying(isPlaying, at: $1) }
    }

    /// Changes the visibility, restarts the timer, and reports and draws a change.
    private func change(_ body: (inout ControlsVisibility, Instant) -> Void) {
        let shown: Bool? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let former = state.visibility
            body(&state.visibility, MonotonicClock.now())
            if state.visibility.deadline != former.deadline { wait(until: state.visibility.deadline, &state) }
            let isVisible = state.visibility.isVisible
            guard isVisible != former.isVisible else { return nil }
            state.changes.yield(isVisible ? .visible : .hidden)
            // The lock keeps the order of changes, so the last one is drawn last.
            controlled.setVisible(isVisible)
            return isVisible
        }
        if shown != nil { controlled.redraw() }
    }

    /// Restarts the timer that hides the controls.
    private func wait(until deadline: Instant?, _ state: inout State) {
        state.timer?.cancel()
        state.timer = deadline.map { deadline in
            Task { [weak self] in
                do {
                    try await Task.sleep(for: .nanoseconds(max(0, (deadline - MonotonicClock.now()).nanoseconds)))
                } catch {
                    return
                }
                self?.change { $0.advance(to: max($1, deadline)) }
            }
        }
    }
}

extension Player {
    /// The part of the content before the position, 0 to 1; nil if the end is unknown, as for live streams.
    fileprivate var shownProgress: Double? {
        guard let playhead else { return nil }
        let range = playhead.seekableRange ?? .zero...Duration.seconds(duration.isFinite ? duration : 0)
        let length = (range.upperBound - range.lowerBound).seconds
        guard length > 0 else { return nil }
        return min(max((playhead.position - range.lowerBound).seconds / length, 0), 1)
    }
}

/// The visibility of the built-in controls of a player. Inputs are clicks, keys, the player's state and the time.
///
/// A click toggles the visibility, and a key shows the controls. They hide after a timeout while the player plays.
struct ControlsVisibility: Equatable {
    /// The time from the last click or key until the controls hide.
    static let timeout = TimeSpan.seconds(3)

    private(set) var isVisible = false

    /// The time at which the controls hide; nil while they are hidden or the player does not play.
    private(set) var deadline: Instant?

    private var isPlaying = false

    /// Toggles the visibility after a click.
    mutating func click(at now: Instant) { setVisible(!isVisible, at: now) }

    /// Shows the controls after a key press.
    mutating func press(at now: Instant) { setVisible(true, at: now) }

    /// Shows or hides the controls, and restarts the timeout.
    mutating func setVisible(_ isVisible: Bool, at now: Instant) {
        self.isVisible = isVisible
        deadline = isVisible && isPlaying ? now + Self.timeout : nil
    }

    /// Records whether the player plays, and restarts the timeout after a change.
    mutating func setPlaying(_ isPlaying: Bool, at now: Instant) {
        guard isPlaying != self.isPlaying else { return }
        self.isPlaying = isPlaying
        setVisible(isVisible, at: now)
    }

    /// Hides the controls if their timeout has passed.
    mutating func advance(to now: Instant) {
        if let deadline, now >= deadline { setVisible(false, at: now) }
    }
}
