import Foundation

/// An accelerometer that a test turns (`machine/accelerometer.c`).
final class Accelerometer: Sendable {
    private static let folder = "/sys/bus/iio/devices"
    private let program: MachineProgram

    /// Plugs it in, and waits until the kernel has made a device of it. In thousandths of the acceleration of gravity.
    init(x: Int = 0, y: Int = 0, z: Int = -1_000) throws {
        try Machine.load("uhid")
        let known = Set(Self.devices)
        program = try MachineProgram("accelerometer", ["\(x)", "\(y)", "\(z)"])
        try Machine.wait(for: "the accelerometer") { Self.devices.contains { !known.contains($0) } }
        try Machine.settle()
    }

    /// The folders of devices that tell an acceleration.
    static var devices: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.map { "\(folder)/\($0)" }.filter {
            FileManager.default.fileExists(atPath: "\($0)/in_accel_z_raw")
        }
    }

    /// Turns it: what is read from now on. Returns when it is so.
    func turn(x: Int, y: Int, z: Int) throws {
        try program.tell("\(x) \(y) \(z)")
        guard program.nextLine() == "ok" else {
            throw Machine.Failure(description: "the accelerometer does not take \(x) \(y) \(z)")
        }
    }

    /// Pulls it out, and waits until its device has gone.
    func unplug() throws {
        let known = Self.devices.count
        program.end()
        try Machine.wait(for: "the accelerometer's end") { Self.devices.count < known }
    }
}
