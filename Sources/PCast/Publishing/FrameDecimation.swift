/// Drops frames evenly to reach a share of the frames.
struct FrameDecimation: Sendable {
    private var due = 1.0

    /// Returns whether the next frame is kept. `share` is the share of frames to keep, 0...1; from 1 on all frames are
    /// kept.
    mutating func takes(_ share: Double) -> Bool {
        guard share < 1 else {
            due = 1
            return true
        }
        // Sums of fractions such as thirds are not exact.
        guard due > 0.999 else {
            due += share
            return false
        }
        due += share - 1
        return true
    }
}
