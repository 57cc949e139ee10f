/// Where gravity pulls, as a device feels it, in m/s²: x to the right of its screen, y to the screen's top, z out of the
/// screen towards who looks at it.
///
/// The vector points to the ground: a device held upright has (0, -9.81, 0), one that lies on its back (0, 0, -9.81).
/// That is what HID sensors report, and what the mount matrices of udev's `60-sensor.hwdb` and of device trees are made
/// for, since screens on Linux are turned by it. (The kernel's `mount-matrix.txt`, a draft "for discussion", draws the
/// opposite sign; a device whose matrix was made after that drawing stands on its head, here as on the desktop.)
public struct Gravity: Hashable, Sendable {
    public var x: Double
    public var y: Double
    public var z: Double

    /// At rest, on the ground.
    public static let standard = 9.806_65

    public init(x: Double, y: Double, z: Double) {
        self.x = x
        self.y = y
        self.z = z
    }

    public var magnitude: Double { (x * x + y * y + z * z).squareRoot() }
}
