import Foundation
import PCastCodecs
import Testing

@testable import PCastDevices

@Suite("Accelerometers in the kernel's iio files")
struct AccelerometerTests {
    private static func read(_ folder: SensorFolder) throws -> Gravity {
        let accelerometer = try #require(Accelerometer.find(in: folder.folders))
        return try #require(accelerometer.read())
    }

    private static func close(_ left: Gravity, _ right: Gravity) -> Bool {
        Gravity(x: left.x - right.x, y: left.y - right.y, z: left.z - right.z).magnitude < 1e-9
    }

    @Test("raw values become m/s², by the scale and offset of all axes or of each")
    func scale() async throws {
        try await SensorFolder.with { folder in
            try folder.accelerometer(100, -1_000, 7)
            #expect(Self.close(try Self.read(folder), Gravity(x: 0.981, y: -9.81, z: 0.06867)))
            try folder.write(
                ["in_accel_offset": "10", "in_accel_z_offset": "-7", "in_accel_x_scale": "0.1"], device: 0)
            #expect(Self.close(try Self.read(folder), Gravity(x: 11, y: -9.7119, z: 0)))
        }
    }

    @Test("the direction is known also without a scale")
    func noScale() async throws {
        try await SensorFolder.with { folder in
            try folder.write(
                ["in_accel_x_raw": "0", "in_accel_y_raw": "64", "in_accel_z_raw": "0"], device: 0)
            #expect(Self.close(try Self.read(folder), Gravity(x: 0, y: Gravity.standard, z: 0)))
        }
    }

    @Test(
        "the mount matrix is applied under any of its names",
        arguments: ["in_accel_mount_matrix", "in_mount_matrix", "mount_matrix"])
    func matrix(_ name: String) async throws {
        try await SensorFolder.with { folder in
            try folder.accelerometer(1_000, 0, 0, [name: "0, 1, 0; -1, 0, 0; 0, 0, 1"])
            #expect(Self.close(try Self.read(folder), Gravity(x: 0, y: -9.81, z: 0)))
        }
    }

    @Test("udev's hardware database overrides the firmware's matrix, by either name of its file")
    func udevMatrix() async throws {
        let lines = ["I:1234", "E:ID_BUS=i2c", "E:ACCEL_MOUNT_MATRIX=-1, 0, 0; 0, -1, 0; 0, 0, 1", "G:systemd"]
        for file in ["+iio:iio:device0", "c243:0"] {
            try await SensorFolder.with { folder in
                try folder.accelerometer(0, 1_000, 0, ["in_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1", "dev": "243:0"])
                try folder.write(udev: lines, to: file)
                #expect(Self.close(try Self.read(folder), Gravity(x: 0, y: -9.81, z: 0)))
            }
        }
    }

    @Test("an accelerometer in the display is preferred to an unspecified one, and one in the base is never used")
    func location() async throws {
        try await SensorFolder.with { folder in
            try folder.write(["name": "als", "in_illuminance_raw": "3"], device: 0)
            try folder.accelerometer(0, 0, 0, device: 1, ["name": "base", "label": "accel-base"])
            #expect(Accelerometer.find(in: folder.folders) == nil)
            try folder.accelerometer(0, 0, 0, device: 2, ["name": "somewhere"])
            #expect(Accelerometer.find(in: folder.folders)?.name == "somewhere")
            try folder.accelerometer(0, 0, 0, device: 10, ["name": "display", "label": "accel-display"])
            #expect(Accelerometer.find(in: folder.folders)?.name == "display")
            try folder.accelerometer(0, 0, 0, device: 3, ["name": "lid", "location": "lid"])
            #expect(Accelerometer.find(in: folder.folders)?.name == "lid")
            try folder.write(udev: ["E:ACCEL_LOCATION=base"], to: "+iio:iio:device3")
            #expect(Accelerometer.find(in: folder.folders)?.name == "display")
        }
    }

    @Test("invalid values are reported as no answer, and a missing device as none")
    func nonsense() async throws {
        try await SensorFolder.with { folder in
            #expect(Accelerometer.find(in: folder.folders) == nil)
            try folder.accelerometer(0, 0, 0)
            let accelerometer = try #require(Accelerometer.find(in: folder.folders))
            for raw in ["", "nan", "1e999", "up", "\u{0}"] {
                try folder.write(["in_accel_x_raw": raw], device: 0)
                #expect(accelerometer.read() == nil, "\(raw)")
            }
            try folder.remove(device: 0)
            #expect(accelerometer.read() == nil)
        }
        #expect(Accelerometer.find(in: .init(devices: "/nonexistent", udev: "/nonexistent")) == nil)
    }
}

/// A folder with sensors as in the files of the kernel and udev.
struct SensorFolder {
    let path: String

    static func with<Result>(_ body: (SensorFolder) async throws -> Result) async throws -> Result {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        for name in ["devices", "udev"] {
            try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(SensorFolder(path: path))
    }

    var folders: Accelerometer.Folders { .init(devices: "\(path)/devices", udev: "\(path)/udev") }

    /// Writes attributes of a sensor with a newline, like the kernel.
    func write(_ attributes: [String: String], device: Int) throws {
        let folder = "\(path)/devices/iio:device\(device)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, value) in attributes { try write("\(value)\n", to: "\(folder)/\(name)") }
    }

    /// Adds an accelerometer with 9.81 m/s² per g and the given acceleration.
    func accelerometer(_ x: Int, _ y: Int, _ z: Int, device: Int = 0, _ others: [String: String] = [:]) throws {
        var attributes = ["name": "accel_3d", "in_accel_scale": "0.00981"]
        for (axis, value) in [("x", x), ("y", y), ("z", z)] { attributes["in_accel_\(axis)_raw"] = "\(value)" }
        try write(attributes.merging(others) { $1 }, device: device)
    }

    func write(udev lines: [String], to name: String) throws {
        try write(lines.map { "\($0)\n" }.joined(), to: "\(path)/udev/\(name)")
    }

    func remove(device: Int) throws {
        try FileManager.default.removeItem(atPath: "\(path)/devices/iio:device\(device)")
    }

    /// Writes atomically, so that no reader sees a part.
    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
