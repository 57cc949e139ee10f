import Glibc
package import PCastCodecs

/// The orientation of a device in quarter turns, from the direction of gravity. It does no I/O.
///
/// Between two quarter turns, the previous one is kept. It changes at 60° from its center and not at 45°, so that a
/// trembling hand does not rotate frames. A device that lies nearly flat also keeps its orientation, because it cannot
/// be determined, and so does one that is shaken or falls.
package struct Orientation: Hashable, Sendable {
    /// The clockwise rotation from upright, as seen by the user of the screen; nil until it could be determined.
    package private(set) var turn: FrameRotation?

    /// The fraction of gravity along the screen below which a device counts as flat: within 30° of horizontal.
    private static let flatShare = 0.5

    /// The range of magnitudes of a device at rest. Others are movements.
    private static let stationaryMagnitudes = 0.5 * Gravity.standard...1.5 * Gravity.standard

    /// The angle from the center of a quarter turn, in degrees, at which it changes.
    private static let reach = 60.0

    /// Creates an orientation; nil if it is unknown.
    package init(turn: FrameRotation? = nil) { self.turn = turn }

    /// Adds a reading of the accelerometer.
    package mutating func update(_ gravity: Gravity) {
        let magnitude = gravity.magnitude
        guard Self.stationaryMagnitudes.contains(magnitude) else { return }
        guard (gravity.x * gravity.x + gravity.y * gravity.y).squareRoot() > Self.flatShare * magnitude else { return }
        // Upright is (0, -1). After a quarter turn clockwise, the right side is down: (1, 0).
        let angle = atan2(gravity.x, -gravity.y) * 180 / .pi
        if let turn, Self.distance(angle, Double(turn.degrees)) <= Self.reach { return }
        turn = FrameRotation(degrees: Int((angle / 90).rounded()) * 90)
    }

    /// Returns the smaller angle between two directions, 0 to 180°.
    private static func distance(_ left: Double, _ right: Double) -> Double {
        abs(remainder(left - right, 360))
    }
}
