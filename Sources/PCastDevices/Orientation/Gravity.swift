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
