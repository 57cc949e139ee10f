import PCastCore
import PCastIO
public import PCastOverlay
public import PCastRendering
import Synchronization

/// The built-in controls of a player on a surface: a bar at the lower edge, with the position and whether the player plays.
///
///     let controls = PlayerControls(on: window)
///     let player = Player(.media(shownOn: controls.surface))
///     controls.attach(player)
///     let overlay = try Overlay(program: "game", player: PlayerOverlayPlugin(player, controls: controls))
///
/// A click on the surface shows or hides the bar, and a key shows it. It hides three seconds after the last click or key while the
/// player plays. Each change is one of ``changes``, which an overlay receives as `playerStage`. The keys themselves are the
/// application's to interpret.
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

    /// Follows the clicks and keys of a surface, which stays the caller's.
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

    /// The surface on which the player shows its frames: the one that was given, with the controls drawn on it.
    public var surface: any RenderSurface { controlled }

    /// Whether the controls are visible.
    public var isVisible: Bool { state.withLock { $0.visibility.isVisible } }

    /// Shows or hides the controls, as an overlay asks for (`bridgeStage`).
    public func setVisible(_ isVisible: Bool) { change { $0.setVisible(isVisible, at: $1) } }

    /// Each change of the visibility from now on.
    public var changes: AsyncStream<OverlayControls> { state.withLock { $0.changes.add() } }

    /// Follows a player: what the bar shows, and whether the controls hide by themselves.
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

    /// Ends following; the surface shows frames without controls from then on. Harmless when called again.
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

    private func followState(of player: Player) {
        let isPlaying = if case .playing = player.state { true } else { false }
        controlled.setPlaying(isPlaying)
        change { $0.setPlaying(isPlaying, at: $1) }
    }

    private func change(_ body: (inout ControlsVisibility, Instant) -> Void) {
        let shown: Bool? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let former = state.visibility
            body(&state.visibility, MonotonicClock.now())
            if state.visibility.deadline != former.deadline { wait(until: state.visibility.deadline, &state) }
            let isVisible = state.visibility.isVisible
            guard isVisible != former.isVisible else { return nil }
            state.changes.yield(isVisible ? .visible : .hidden)
            // In the order of the changes: two that come at once are both drawn, the later one last.
            controlled.setVisible(isVisible)
            return isVisible
        }
        if shown != nil { controlled.redraw() }
    }

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
    /// The part of the content that lies before the position, 0 to 1; nil where no end is known, as of live streams.
    fileprivate var shownProgress: Double? {
        guard let playhead else { return nil }
        let range = playhead.seekableRange ?? .zero...TimeSpan(seconds: duration.isFinite ? duration : 0)
        let length = (range.upperBound - range.lowerBound).seconds
        guard length > 0 else { return nil }
        return min(max((playhead.position - range.lowerBound).seconds / length, 0), 1)
    }
}
