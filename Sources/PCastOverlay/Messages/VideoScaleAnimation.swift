public import PCastMedia

/// How the video comes from one part of its place to another: slowly at first and at the end, and never back.
public struct VideoScaleAnimation: Hashable, Sendable {
    private var from: VideoScaleFrame
    private var to: VideoScaleFrame
    private var began: Instant
    private var length: TimeSpan

    /// It takes the whole place.
    public init() {
        (from, to) = (.full, .full)
        (began, length) = (Instant(nanoseconds: 0), .zero)
    }

    /// Goes elsewhere, from wherever it is.
    public mutating func begin(_ scale: VideoScale, at now: Instant) {
        from = frame(at: now)
        to = scale.frame
        (began, length) = (now, .milliseconds(Int64(scale.duration)))
    }

    public func isOver(at now: Instant) -> Bool { now >= began + length }

    public func frame(at now: Instant) -> VideoScaleFrame {
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
