import Dispatch
import PCastCodecs
import PCastCore
import PCastIO
import PCastOverlay
import Synchronization

/// Scales the frames of a player as an overlay requests (`bridgeVideoScale`): it draws a smaller frame over a background,
/// or on black without one. It animates the change of the scale, also while no new frame arrives.
package final class FrameComposition: Sendable {
    private struct State {
        /// The last frame before scaling; nil before the first.
        var last: VideoFrame?
        var shownAt: Instant?
        /// The image around scaled frames; nil for black.
        var background: Graphic?
        /// Whether no frame was drawn since the background was set.
        var isBackgroundNew = false
        /// Whether `drawBackground` will be called.
        var isBackgroundScheduled = false
        nonisolated(unsafe) let squeezeBack = FrameScaler()
    }

    /// The animation of the scale.
    private struct Motion {
        var animation = VideoScaleAnimation()
        var isStepping = false
    }

    /// The interval between two frames of an animation.
    private static let interval = DispatchTimeInterval.milliseconds(16)
    /// The minimum time since the last frame before an animation draws another.
    private static let minimumInterval = TimeSpan.milliseconds(12)
    /// The time after which a frame counts as a still picture, which is drawn again with a new background.
    private static let still = TimeSpan.milliseconds(100)

    private let sink: @Sendable (VideoFrame) -> Void
    /// The state, which is locked while a frame is passed to the sink, because the sink accepts one at a time.
    private let state = Mutex(State())
    /// The animation. Its lock is separate and is not held during calls, because a caller of `animate(to:)` may hold a
    /// lock for which the sink waits.
    private let motion = Mutex(Motion())
    /// The last frame that the sink received. Its lock is not held during calls, so that the sink may read it.
    private let displayed = Mutex<VideoFrame?>(nil)
    private let queue = DispatchQueue(label: "pcast.player.composition")

    /// Creates a composition. `sink` receives the scaled frames, from one thread at a time.
    init(_ sink: @escaping @Sendable (VideoFrame) -> Void) { self.sink = sink }

    /// The last frame at its scale, as the sink received it; nil before the first.
    var displayedFrame: VideoFrame? { displayed.withLock { $0 } }

    /// Displays a frame at the current scale.
    func show(_ frame: VideoFrame) {
        state.withLock { state in
            state.last = frame
            draw(&state, at: MonotonicClock.now())
        }
    }

    /// Sets the image around scaled frames from now on, and around a still picture; nil for black.
    func setBackground(_ background: Graphic?) {
        state.withLock { state in
            (state.background, state.isBackgroundNew) = (background, true)
            drawBackground(&state)
        }
    }

    /// Draws a still picture with a new background. Moving frames are drawn when they arrive.
    private func drawBackground(_ state: inout State) {
        guard state.isBackgroundNew, let shownAt = state.shownAt else { return }
        let now = MonotonicClock.now()
        let remaining = Self.still - (now - shownAt)
        if remaining <= .zero { return draw(&state, at: now) }
        // No frame may follow this one.
        if state.isBackgroundScheduled { return }
        state.isBackgroundScheduled = true
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(remaining.nanoseconds))) { [weak self] in
            guard let self else { return }
            self.state.withLock { state in
                state.isBackgroundScheduled = false
                self.drawBackground(&state)
            }
        }
    }

    /// Animates the scale from its current value to `scale`. It does not block.
    func animate(to scale: VideoScale) {
        let wasStepping = motion.withLock { motion in
            motion.animation.begin(scale, at: MonotonicClock.now())
            defer { motion.isStepping = true }
            return motion.isStepping
        }
        if !wasStepping { queue.async { [weak self] in self?.step() } }
    }

    /// Draws a step of the animation and schedules the next one.
    private func step() {
        let animation = motion.withLock { $0.animation }
        let now = MonotonicClock.now()
        let isOver = animation.isOver(at: now)
        state.withLock { state in
            // New frames are drawn when they arrive, so a step between them is not necessary.
            if isOver || state.shownAt.map({ now - $0 >= Self.minimumInterval }) ?? true { draw(&state, at: now) }
        }
        let continuesHere = motion.withLock { motion in
            // Meanwhile another animation may have begun.
            motion.isStepping = !isOver || motion.animation != animation
            return motion.isStepping
        }
        if continuesHere { queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.step() } }
    }

    /// Draws the last frame at the current scale.
    private func draw(_ state: inout State, at now: Instant) {
        guard let frame = state.last else { return }
        (state.shownAt, state.isBackgroundNew) = (now, false)
        let scaledFrame = motion.withLock { $0.animation.frame(at: now) }
        guard scaledFrame != .full else { return display(frame) }
        let (width, height) = (Double(frame.dimensions.width), Double(frame.dimensions.height))
        let target = FrameRectangle(
            x: Int((scaledFrame.x * width).rounded()), y: Int((scaledFrame.y * height).rounded()),
            width: Int((scaledFrame.width * width).rounded()), height: Int((scaledFrame.height * height).rounded()))
        display(state.squeezeBack.draw(frame, into: target, over: state.background))
    }

    private func display(_ frame: VideoFrame) {
        displayed.withLock { $0 = frame }
        sink(frame)
    }
}
