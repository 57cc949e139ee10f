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
