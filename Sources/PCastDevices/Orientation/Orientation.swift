import Glibc
public import PCastCodecs

/// How a device is held, told from where gravity pulls, in quarter turns. Pure: it remembers and asks for nothing.
///
/// A device that is held between two quarters stays with the one that it had (it changes 60° from a quarter's middle,
/// not 45°), so that a hand's trembling turns no picture. One that lies flat, or nearly so, cannot tell how it is turned
/// and keeps the last orientation too, as does one that is shaken or falls.
public struct Orientation: Hashable, Sendable {
    /// How far the device is turned clockwise from upright, as it looks to who holds it and sees its screen. Nil until
    /// it was first held at an angle that tells.
    public private(set) var turn: PictureTurn?

    /// The share of gravity along the screen under which a device counts as flat: within 30° of a table's top.
    private static let flatShare = 0.5

    /// Of gravity. What differs more is a movement.
    private static let restingMagnitudes = 0.5 * Gravity.standard...1.5 * Gravity.standard

    /// Degrees from a quarter's middle at which it is left.
    private static let reach = 60.0

    public init(turn: PictureTurn? = nil) { self.turn = turn }

    /// Takes in what the accelerometer felt.
    public mutating func feel(_ gravity: Gravity) {
        let magnitude = gravity.magnitude
        guard Self.restingMagnitudes.contains(magnitude) else { return }
        guard (gravity.x * gravity.x + gravity.y * gravity.y).squareRoot() > Self.flatShare * magnitude else { return }
        // Upright is (0, -1); turned clockwise by a quarter, the device's right side is down: (1, 0).
        let angle = atan2(gravity.x, -gravity.y) * 180 / .pi
        if let turn, Self.distance(angle, Double(turn.degrees)) <= Self.reach { return }
        turn = PictureTurn(degrees: Int((angle / 90).rounded()) * 90)
    }

    /// Between two directions, the shorter way around, 0 to 180.
    private static func distance(_ left: Double, _ right: Double) -> Double {
        abs(remainder(left - right, 360))
    }
}
