/// The place of a picture that is to be sharp, from (0, 0) at the top left to (1, 1) at the bottom right (seed 004,
/// "Auto-focus target").
public struct FocusTarget: Hashable, Sendable {
    public let x: Double
    public let y: Double

    /// Nil for what lies outside of the picture.
    public init?(x: Double, y: Double) {
        guard (0...1).contains(x), (0...1).contains(y) else { return nil }
        self.x = x
        self.y = y
    }
}
