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

/// The direction of gravity in a device's axes, in m/s²: x to the right of its screen, y to the top, z out of the
/// screen towards the viewer.
///
/// The vector points to the ground: an upright device has (0, -9.81, 0), one that lies on its back (0, 0, -9.81). HID
/// sensors report it like this, and the mount matrices in udev's `60-sensor.hwdb` and in device trees assume it,
/// because Linux desktops rotate screens by it. (The kernel's `mount-matrix.txt`, a draft "for discussion", shows the
/// opposite sign. A matrix that follows that draft is upside down here, as on the desktop.)
package struct Gravity: Hashable, Sendable {
    /// The component to the right of the screen, in m/s².
    package var x: Double
    /// The component to the top of the screen, in m/s².
    package var y: Double
    /// The component out of the screen, in m/s².
    package var z: Double

    /// The standard gravity, in m/s².
    package static let standard = 9.806_65

    /// Creates a vector, in m/s².
    package init(x: Double, y: Double, z: Double) {
        self.x = x
        self.y = y
        self.z = z
    }

    /// The magnitude in m/s².
    package var magnitude: Double { (x * x + y * y + z * z).squareRoot() }
}

/// The mounting of an accelerometer in its device: a matrix that converts its vectors to the device's axes. The text
/// form is that of `Documentation/ABI/testing/sysfs-bus-iio` (`in_mount_matrix`) and udev's `ACCEL_MOUNT_MATRIX`: `0,
/// -1, 0; 1, 0, 0; 0, 0, 1`, row by row.
struct MountMatrix: Hashable {
    private let rows: [[Double]]

    static let identity = MountMatrix("1, 0, 0; 0, 1, 0; 0, 0, 1")!

    /// Parses a matrix. Returns nil if it has not three rows of three numbers or consists of zeros.
    init?(_ text: String) {
        rows = text.split(separator: ";").map { row in
            row.split(separator: ",", omittingEmptySubsequences: false).map { Self.number($0) ?? .nan }
        }
        let numbers = rows.flatMap(\.self)
        guard rows.count == 3, rows.allSatisfy({ $0.count == 3 }), numbers.allSatisfy(\.isFinite) else { return nil }
        guard numbers.contains(where: { $0 != 0 }) else { return nil }
    }

    func apply(_ vector: Gravity) -> Gravity {
        let values = rows.map { $0[0] * vector.x + $0[1] * vector.y + $0[2] * vector.z }
        return Gravity(x: values[0], y: values[1], z: values[2])
    }

    private static func number(_ text: Substring) -> Double? {
        Double(text.filter { !$0.isWhitespace })
    }
}
