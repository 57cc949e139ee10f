import Dispatch
import PCastCodecs
import PCastCore
import PCastIO
import PCastOverlay
import Synchronization

/// Puts the pictures of a player where an overlay wants them (`bridgeVideoScale`): a smaller picture on black, and on the way
/// there at every moment in between, also while the picture that is shown stands.
public final class FrameComposition: Sendable {
    private struct State {
        /// What is shown, before it is composed.
        var last: VideoFrame?
        var shownAt: Instant?
        nonisolated(unsafe) let squeezer = FrameSqueezer()
    }

    private struct Motion {
        var animation = VideoScaleAnimation()
        var isStepping = false
    }

    /// Between two pictures of an animation.
    private static let interval = DispatchTimeInterval.milliseconds(16)
    private static let leastInterval = TimeSpan.milliseconds(12)

    private let sink: @Sendable (VideoFrame) -> Void
    /// Held while a picture is given to the sink, which takes one at a time.
    private let state = Mutex(State())
    /// Apart, and held by nobody who calls others: whoever moves the picture may hold a lock that the sink waits for.
    private let motion = Mutex(Motion())
    private let queue = DispatchQueue(label: "pcast.player.composition")

    /// - Parameter sink: gets what is to be seen, from one thread at a time.
    init(_ sink: @escaping @Sendable (VideoFrame) -> Void) { self.sink = sink }

    func show(_ frame: VideoFrame) {
        state.withLock { state in
            state.last = frame
            draw(&state, at: MonotonicClock.now())
        }
    }

    /// Goes there from wherever it is. Waits for no picture.
    func animate(to scale: VideoScale) {
        let wasStepping = motion.withLock { motion in
            motion.animation.begin(scale, at: MonotonicClock.now())
            defer { motion.isStepping = true }
            return motion.isStepping
        }
        if !wasStepping { queue.async { [weak self] in self?.step() } }
    }

    /// Draws the picture anew until it has come where it goes.
    private func step() {
        let animation = motion.withLock { $0.animation }
        let now = MonotonicClock.now()
        let isOver = animation.isOver(at: now)
        state.withLock { state in
            // In between, pictures that come are drawn as they come.
            if isOver || state.shownAt.map({ now - $0 >= Self.leastInterval }) ?? true { draw(&state, at: now) }
        }
        let goesOn = motion.withLock { motion in
            // Meanwhile it may have been sent elsewhere.
            motion.isStepping = !isOver || motion.animation != animation
            return motion.isStepping
        }
        if goesOn { queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.step() } }
    }

    private func draw(_ state: inout State, at now: Instant) {
        guard let frame = state.last else { return }
        state.shownAt = now
        let place = motion.withLock { $0.animation.frame(at: now) }
        guard place != .full else { return sink(frame) }
        let (width, height) = (Double(frame.dimensions.width), Double(frame.dimensions.height))
        let target = FrameRectangle(
            x: Int((place.x * width).rounded()), y: Int((place.y * height).rounded()),
            width: Int((place.width * width).rounded()), height: Int((place.height * height).rounded()))
        sink(state.squeezer.squeeze(frame, into: target))
    }
}
