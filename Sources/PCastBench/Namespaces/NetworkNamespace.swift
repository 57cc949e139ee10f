import Foundation
import PCastIO

/// A network namespace of this machine, created with `ip netns` (ip-netns(8)) and removed by `close()`.
final class NetworkNamespace: Sendable {
    let name: String

    /// Creates a namespace. Throws `BenchFailure` if this process is not permitted to.
    init(_ name: String) throws {
        self.name = name
        try SystemProgram.run("ip", ["netns", "add", name])
        do {
            try ip(["link", "set", "lo", "up"])
        } catch {
            close()
            throw error
        }
    }

    /// The words to put before a command to run it in this namespace.
    var prefix: [String] { ["nsenter", "--net=/run/netns/\(name)"] }

    /// Runs `ip` in this namespace.
    func ip(_ arguments: [String]) throws { try SystemProgram.run("ip", ["-n", name] + arguments) }

    func close() { try? SystemProgram.run("ip", ["netns", "del", name]) }
}

/// Runs programs of the operating system to completion.
enum SystemProgram {
    /// Runs a program and waits for it. Throws `BenchFailure` with its error output if it fails.
    static func run(_ name: String, _ arguments: [String]) throws {
        let process = try FinishedProcess(
            running: url(of: name).path, arguments, environment: ProcessInfo.processInfo.environment,
            recording: .messages)
        guard process.hasSucceeded else {
            let command = ([name] + arguments).joined(separator: " ")
            throw BenchFailure("“\(command)” failed: \(process.text.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
    }

    static func url(of name: String) throws -> URL {
        let folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)") {
            return URL(fileURLWithPath: "\(folder)/\(name)")
        }
        throw BenchFailure("\(name) is not installed")
    }
}
