import Foundation
import PCastCore
import PCastIO

/// Operations on the virtual machine in which the tests run: loading drivers, running programs, waiting for devices.
enum Machine {
    /// Whether this is the virtual machine. Only the machine's job sets the variable.
    static let isHere = ProcessInfo.processInfo.environment["PCAST_HARDWARE"] == "1"

    /// A program failed, or a condition was not met in time.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Loads a driver and waits for its devices. Options override the machine's own (`/etc/modprobe.d`).
    static func load(_ driver: String, _ options: String...) throws {
        try run("modprobe", [driver] + options)
        try settle()
    }

    /// Unloads a driver and thereby its devices, as if they were unplugged.
    static func unload(_ driver: String) throws {
        try run("rmmod", [driver])
        try settle()
    }

    /// Waits until udev has handled every event.
    static func settle() throws { try run("udevadm", ["settle", "--timeout=20"]) }

    /// Runs a program to its end. Returns its output.
    @discardableResult
    static func run(_ program: String, _ arguments: [String] = []) throws -> String {
        let running = try MachineProgram(program, arguments, isQuiet: true)
        var lines: [String] = []
        while let line = running.nextLine() { lines.append(line) }
        let status = running.wait()
        let output = lines.joined(separator: "\n")
        guard status == 0 else {
            let command = ([program] + arguments).joined(separator: " ")
            throw Failure(description: "\(command) exited with \(status): \(output)")
        }
        return output
    }

    /// Waits until a condition holds, and fails with the name `what` after a number of seconds.
    static func wait(
        for what: String, within limit: Double = 20, until holds: () throws -> Bool
    ) throws {
        let end = ProcessInfo.processInfo.systemUptime + limit
        while try !holds() {
            guard ProcessInfo.processInfo.systemUptime < end else {
                throw Failure(description: "\(what) did not come about within \(limit) s")
            }
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(20))
        }
    }
}

/// A USB camera that can be connected and disconnected (`machine/uvcsim.c`).
final class USBCamera: Sendable {
    /// The name under `/dev/v4l/by-id`, which every camera of the same serial number has.
    let path: String
    private let program: MachineProgram

    /// Connects it, and waits for its node.
    init(serialNumber: String = "0001") throws {
        if !FileManager.default.fileExists(atPath: "/dev/gadget") {
            try FileManager.default.createDirectory(atPath: "/dev/gadget", withIntermediateDirectories: true)
            try Machine.run("modprobe", ["-a", "dummy_hcd", "gadgetfs"])
            try Machine.run("mount", ["-t", "gadgetfs", "none", "/dev/gadget"])
        }
        let path = "/dev/v4l/by-id/usb-PCast_Test_UVC_camera_\(serialNumber)-video-index0"
        self.path = path
        program = try MachineProgram("uvcsim", [serialNumber])
        try Machine.wait(for: path) { FileManager.default.fileExists(atPath: path) }
        try Machine.settle()
    }

    /// Disconnects it, and waits until its node is removed.
    func unplug() throws {
        program.end()
        let path = path
        try Machine.wait(for: "the end of \(path)") { !FileManager.default.fileExists(atPath: path) }
        try Machine.settle()
    }
}

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
