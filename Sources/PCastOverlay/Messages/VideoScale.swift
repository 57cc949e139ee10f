/// How much of its place the video takes, and where (seed 000, `bridgeVideoScale`): each factor and each pivot is between 0
/// and 1. The pivot is the point of the picture that stays where it is.
public struct VideoScale: Hashable, Sendable {
    public var scaleX: Double
    public var scaleY: Double
    public var pivotX: Double
    public var pivotY: Double
    /// How long it takes to come there, in milliseconds.
    public var duration: Int

    /// An hour would be no animation.
    public static let durations = 0...60_000

    /// The whole place, at once.
    public static let full = VideoScale(scaleX: 1, scaleY: 1)

    public init(scaleX: Double, scaleY: Double, pivotX: Double = 0.5, pivotY: Double = 0.5, duration: Int = 0) {
        (self.scaleX, self.scaleY, self.pivotX, self.pivotY) = (scaleX, scaleY, pivotX, pivotY)
        self.duration = duration
    }

    /// All of it is within its bounds.
    public var isValid: Bool {
        [scaleX, scaleY, pivotX, pivotY].allSatisfy { (0.0...1).contains($0) } && Self.durations.contains(duration)
    }

    /// Where the video is then, as shares of its place.
    public var frame: VideoScaleFrame {
        VideoScaleFrame(x: (1 - scaleX) * pivotX, y: (1 - scaleY) * pivotY, width: scaleX, height: scaleY)
    }
}

/// A part of a place, in shares of its width and height.
public struct VideoScaleFrame: Hashable, Sendable {
    public var x: Double
    public var y: Double
    public var width: Double
    public var height: Double

    public init(x: Double, y: Double, width: Double, height: Double) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// All of the place.
    public static let full = VideoScaleFrame(x: 0, y: 0, width: 1, height: 1)
}
