/// The position in a frame to focus on, from (0, 0) at the top left to (1, 1) at the bottom right.
public struct FocusTarget: Hashable, Sendable {
    /// The horizontal position, from 0 at the left to 1 at the right.
    public let x: Double
    /// The vertical position, from 0 at the top to 1 at the bottom.
    public let y: Double

    /// Creates a target. Returns nil for a position outside the frame.
    public init?(x: Double, y: Double) {
        guard (0...1).contains(x), (0...1).contains(y) else { return nil }
        self.x = x
        self.y = y
    }
}
