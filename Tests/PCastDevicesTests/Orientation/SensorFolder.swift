import Foundation

@testable import PCastDevices

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
