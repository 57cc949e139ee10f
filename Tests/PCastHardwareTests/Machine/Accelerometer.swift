import Foundation

/// An accelerometer that a test rotates (`machine/accelerometer.c`).
final class Accelerometer: Sendable {
    private static let folder = "/sys/bus/iio/devices"
    private let program: MachineProgram

    /// Connects the accelerometer and waits for the kernel's device. Values are in thousandths of the acceleration of
    /// gravity.
    init(x: Int = 0, y: Int = 0, z: Int = -1_000) throws {
        try Machine.load("uhid")
        let known = Set(Self.devices)
        program = try MachineProgram("accelerometer", ["\(x)", "\(y)", "\(z)"])
        try Machine.wait(for: "the accelerometer") { Self.devices.contains { !known.contains($0) } }
        try Machine.settle()
    }

    /// The folders of devices that report an acceleration.
    static var devices: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.map { "\(folder)/\($0)" }.filter {
            FileManager.default.fileExists(atPath: "\($0)/in_accel_z_raw")
        }
    }

    /// Sets the acceleration. Returns when the kernel reports it.
    func turn(x: Int, y: Int, z: Int) throws {
        try program.notify("\(x) \(y) \(z)")
        guard program.nextLine() == "ok" else {
            throw Machine.Failure(description: "the accelerometer does not take \(x) \(y) \(z)")
        }
    }

    /// Disconnects it, and waits until its device is removed.
    func unplug() throws {
        let known = Self.devices.count
        program.end()
        try Machine.wait(for: "the accelerometer's end") { Self.devices.count < known }
    }
}
