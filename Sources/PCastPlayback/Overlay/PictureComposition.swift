import Dispatch
import PCastCodecs
import PCastIO
import PCastMedia
import PCastOverlay
import Synchronization

/// Puts the pictures of a player where an overlay wants them (`bridgeVideoScale`): a smaller picture on black, and on the way
/// there at every moment in between, also while the picture that is shown stands.
public final class PictureComposition: Sendable {
    private struct State {
        var animation = VideoScaleAnimation()
        /// What is shown, before it is composed.
        var last: VideoFrame?
        var shownAt: Instant?
        var isStepping = false
        nonisolated(unsafe) let squeezer = PictureSqueezer()
    }

    /// Between two pictures of an animation.
    private static let interval = DispatchTimeInterval.milliseconds(16)
    private static let leastInterval = TimeSpan.milliseconds(12)

    private let sink: @Sendable (VideoFrame) -> Void
    /// Held while a picture is given to the sink, which takes one at a time.
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "pcast.player.composition")

    /// - Parameter sink: gets what is to be seen, from one thread at a time.
    init(_ sink: @escaping @Sendable (VideoFrame) -> Void) { self.sink = sink }

    func show(_ frame: VideoFrame) {
        state.withLock { state in
            state.last = frame
            draw(&state, at: MonotonicClock.now())
        }
    }

    /// Goes there from wherever it is.
    func animate(to scale: VideoScale) {
        state.withLock { state in
            state.animation.begin(scale, at: MonotonicClock.now())
            guard !state.isStepping else { return }
            state.isStepping = true
            queue.async { [weak self] in self?.step() }
        }
    }

    /// Draws the picture anew until it has come where it goes.
    private func step() {
        let goesOn = state.withLock { state in
            let now = MonotonicClock.now()
            let isOver = state.animation.isOver(at: now)
            // In between, pictures that come are drawn as they come.
            if isOver || state.shownAt.map({ now - $0 >= Self.leastInterval }) ?? true { draw(&state, at: now) }
            state.isStepping = !isOver
            return !isOver
        }
        if goesOn { queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.step() } }
    }

    private func draw(_ state: inout State, at now: Instant) {
        guard let frame = state.last else { return }
        state.shownAt = now
        let place = state.animation.frame(at: now)
        guard place != .full else { return sink(frame) }
        let (width, height) = (Double(frame.dimensions.width), Double(frame.dimensions.height))
        let target = PictureRectangle(
            x: Int((place.x * width).rounded()), y: Int((place.y * height).rounded()),
            width: Int((place.width * width).rounded()), height: Int((place.height * height).rounded()))
        sink(state.squeezer.squeeze(frame, into: target))
    }
}
