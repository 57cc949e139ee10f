package import PCastCore

/// An animation of the video from one rectangle of its view to another, with smooth acceleration and deceleration.
package struct VideoScaleAnimation: Hashable, Sendable {
    private var from: VideoScaleFrame
    private var to: VideoScaleFrame
    private var began: Instant
    private var length: TimeSpan

    /// Creates a finished animation whose rectangle is the whole view.
    package init() {
        (from, to) = (.full, .full)
        (began, length) = (Instant(nanoseconds: 0), .zero)
    }

    /// Starts an animation from the current rectangle to that of a scale.
    package mutating func begin(_ scale: VideoScale, at now: Instant) {
        from = frame(at: now)
        to = scale.frame
        (began, length) = (now, .milliseconds(Int64(scale.duration)))
    }

    /// Returns whether the animation has finished.
    package func isOver(at now: Instant) -> Bool { now >= began + length }

    /// Returns the rectangle at a time, in fractions of the view.
    package func frame(at now: Instant) -> VideoScaleFrame {
        guard !isOver(at: now), length > .zero else { return to }
        let share = min(max((now - began).seconds / length.seconds, 0), 1)
        let eased = share * share * (3 - 2 * share)
        func between(_ path: KeyPath<VideoScaleFrame, Double>) -> Double {
            from[keyPath: path] + (to[keyPath: path] - from[keyPath: path]) * eased
        }
        return VideoScaleFrame(
            x: between(\.x), y: between(\.y), width: between(\.width), height: between(\.height))
    }
}
