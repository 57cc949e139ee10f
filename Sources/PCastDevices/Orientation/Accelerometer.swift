import Glibc

/// The accelerometer of a device's screen, from the kernel's Industrial I/O (iio) subsystem
/// (`Documentation/ABI/testing/sysfs-bus-iio`).
package struct Accelerometer: Sendable {
    /// The folders of the kernel's and udev's data.
    package struct Folders: Hashable, Sendable {
        /// The folder with a folder `iio:deviceN` for each sensor.
        package var devices: String
        /// udev's database, with a file `+iio:iio:deviceN` or `cMAJOR:MINOR` for each sensor.
        package var udev: String

        /// The folders of the running system.
        package static let system = Folders(devices: "/sys/bus/iio/devices", udev: "/run/udev/data")

        /// Creates folders.
        package init(devices: String, udev: String) {
            self.devices = devices
            self.udev = udev
        }
    }

    /// The driver's name of the sensor.
    package let name: String
    private let folder: String
    private let matrix: MountMatrix

    /// Returns the accelerometer that moves with the screen; nil if there is none. One with a declared location
    /// precedes one without. An accelerometer in the base of a notebook is ignored, because it does not move with the
    /// screen.
    package static func find(in folders: Folders = .system) -> Accelerometer? {
        let numbers = SystemAttribute.names(in: folders.devices).compactMap { name in
            name.hasPrefix("iio:device") ? Int(name.dropFirst("iio:device".count)) : nil
        }
        var silent: Accelerometer?
        for number in numbers.sorted() {
            let folder = "\(folders.devices)/iio:device\(number)"
            guard SystemAttribute.read("\(folder)/in_accel_x_raw") != nil else { continue }
            let udev = UdevProperties(of: "iio:device\(number)", at: folder, in: folders.udev)
            let accelerometer = Accelerometer(folder: folder, udev: udev)
            switch location(folder, udev) {
            case "display", "lid": return accelerometer
            case nil: silent = silent ?? accelerometer
            default: continue
            }
        }
        return silent
    }

    /// Returns the location of a sensor. The value of udev has priority over that of the firmware, because it
    /// corrects it.
    private static func location(_ folder: String, _ udev: UdevProperties) -> String? {
        if let location = udev["ACCEL_LOCATION"] ?? SystemAttribute.read("\(folder)/location"), !location.isEmpty {
            return location
        }
        guard let label = SystemAttribute.read("\(folder)/label"), label.hasPrefix("accel-") else { return nil }
        return String(label.dropFirst("accel-".count))
    }

    private init(folder: String, udev: UdevProperties) {
        self.folder = folder
        name = SystemAttribute.read("\(folder)/name") ?? "accelerometer"
        let written =
            udev["ACCEL_MOUNT_MATRIX"] ?? SystemAttribute.read("\(folder)/in_accel_mount_matrix")
            ?? SystemAttribute.read("\(folder)/in_mount_matrix") ?? SystemAttribute.read("\(folder)/mount_matrix")
        matrix = written.flatMap { MountMatrix($0) } ?? .identity
    }

    /// Returns the current acceleration in the device's axes; nil if the sensor does not respond. It blocks until the
    /// sensor has answered, which may have to wake up first.
    package func read() -> Gravity? {
        guard let x = axis("x"), let y = axis("y"), let z = axis("z") else { return nil }
        let acceleration = matrix.apply(Gravity(x: x.value, y: y.value, z: z.value))
        if x.isScaled, y.isScaled, z.isScaled { return acceleration }
        // Without a known unit, the direction is still valid.
        let factor = acceleration.magnitude > 0 ? Gravity.standard / acceleration.magnitude : 0
        return Gravity(x: acceleration.x * factor, y: acceleration.y * factor, z: acceleration.z * factor)
    }

    /// Returns `(raw + offset) * scale`. Offset and scale are those of the axis, or of all three.
    private func axis(_ axis: String) -> (value: Double, isScaled: Bool)? {
        guard let raw = SystemAttribute.number("\(folder)/in_accel_\(axis)_raw") else { return nil }
        let offset =
            SystemAttribute.number("\(folder)/in_accel_\(axis)_offset")
            ?? SystemAttribute.number("\(folder)/in_accel_offset") ?? 0
        let scale =
            SystemAttribute.number("\(folder)/in_accel_\(axis)_scale")
            ?? SystemAttribute.number("\(folder)/in_accel_scale")
        return ((raw + offset) * (scale ?? 1), scale != nil)
    }
}

/// The properties of a sensor from udev's rules and hardware database: lines `E:NAME=VALUE` in its database.
struct UdevProperties {
    private var values: [String: String] = [:]

    /// Reads the properties of the kernel's device `name`, such as `iio:device0`, whose sysfs folder is `folder`. Its
    /// attribute `dev` names the database file of a device with a node in `/dev`.
    init(of name: String, at folder: String, in database: String) {
        let node = SystemAttribute.read("\(folder)/dev").flatMap { SystemAttribute.read("\(database)/c\($0)") }
        guard let text = node ?? SystemAttribute.read("\(database)/+iio:\(name)") else { return }
        for line in text.split(separator: "\n") where line.hasPrefix("E:") {
            let parts = line.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
    }

    subscript(name: String) -> String? { values[name] }
}

/// Small files of the kernel and of udev.
enum SystemAttribute {
    /// The largest size, that of udev's longest property files. The kernel's files are at most a page long.
    private static let limit = 65_536

    /// Returns the text of a file without surrounding white space; nil if it cannot be read or is not UTF-8.
    static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < limit {
            let count = Glibc.read(file, &part, part.count)
            // A sensor that wakes up answers late, and the call may be interrupted.
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let isBlank: (Character) -> Bool = { $0.isWhitespace }
        guard let first = text.firstIndex(where: { !isBlank($0) }) else { return "" }
        return String(text[first...text.lastIndex { !isBlank($0) }!])
    }

    static func number(_ path: String) -> Double? {
        guard let value = read(path).flatMap({ Double($0) }), value.isFinite else { return nil }
        return value
    }

    /// Returns the names in a folder in no particular order; empty if it does not exist.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
