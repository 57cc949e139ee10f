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
