public import PCastCodecs

/// The position in a frame to focus on, from (0, 0) at the top left to (1, 1) at the bottom right.
public struct FocusTarget: Hashable, Sendable {
    /// The horizontal position, from 0 at the left to 1 at the right.
    public let x: Double
    /// The vertical position, from 0 at the top to 1 at the bottom.
    public let y: Double

    /// Creates a target. Returns nil for a position outside the frame.
    public init?(x: Double, y: Double) {
        guard (0...1).contains(x), (0...1).contains(y) else { return nil }
        (self.x, self.y) = (x, y)
    }

    private init(inside x: Double, _ y: Double) { (self.x, self.y) = (x, y) }

    /// Returns the same position in the coordinates that the frame has before a rotation. The rotation is the clockwise
    /// one that is applied before the frame is displayed.
    public func beforeRotation(_ turn: FrameRotation) -> FocusTarget {
        switch turn.degrees {
        case 90: FocusTarget(inside: y, 1 - x)
        case 180: FocusTarget(inside: 1 - x, 1 - y)
        case 270: FocusTarget(inside: 1 - y, x)
        default: self
        }
    }
}
