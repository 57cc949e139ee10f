package import PCastCore

/// The size and position of the video in its view (`bridgeVideoScale` of the Ease Live SDK).
///
/// Factors and pivots are between 0 and 1. The pivot is the point of the frame that stays in place while it is scaled.
public struct VideoScale: Hashable, Sendable {
    /// The width of the video as a fraction of the view's width.
    public var scaleX: Double
    /// The height of the video as a fraction of the view's height.
    public var scaleY: Double
    /// The horizontal pivot; 0 is the left edge.
    public var pivotX: Double
    /// The vertical pivot; 0 is the top edge.
    public var pivotY: Double
    /// The duration of the animation in milliseconds; 0 for none.
    public var duration: Int

    /// The allowed durations in milliseconds.
    public static let durations = 0...60_000

    /// The whole view, without an animation.
    public static let full = VideoScale(scaleX: 1, scaleY: 1)

    /// Creates a scale; the pivot is the center by default.
    public init(scaleX: Double, scaleY: Double, pivotX: Double = 0.5, pivotY: Double = 0.5, duration: Int = 0) {
        (self.scaleX, self.scaleY, self.pivotX, self.pivotY) = (scaleX, scaleY, pivotX, pivotY)
        self.duration = duration
    }

    /// Whether all values are within their ranges.
    public var isValid: Bool {
        [scaleX, scaleY, pivotX, pivotY].allSatisfy { (0.0...1).contains($0) } && Self.durations.contains(duration)
    }

    /// The rectangle that the video occupies after the animation, in fractions of the view.
    public var frame: VideoScaleFrame {
        VideoScaleFrame(x: (1 - scaleX) * pivotX, y: (1 - scaleY) * pivotY, width: scaleX, height: scaleY)
    }
}

/// A rectangle in fractions of the width and height of a view.
public struct VideoScaleFrame: Hashable, Sendable {
    /// The left edge.
    public var x: Double
    /// The top edge.
    public var y: Double
    /// The width.
    public var width: Double
    /// The height.
    public var height: Double

    /// Creates a rectangle from fractions between 0 and 1.
    public init(x: Double, y: Double, width: Double, height: Double) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// The whole view.
    public static let full = VideoScaleFrame(x: 0, y: 0, width: 1, height: 1)
}

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
