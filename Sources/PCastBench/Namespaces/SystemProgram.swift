import Foundation
import PCastIO

/// Runs programs of the operating system to completion.
enum SystemProgram {
    /// Runs a program and waits for it. Throws `BenchFailure` with its error output if it fails.
    static func run(_ name: String, _ arguments: [String]) throws {
        let process = try FinishedProcess(
            running: url(of: name).path, arguments, environment: ProcessInfo.processInfo.environment,
            recording: .messages)
        guard process.hasSucceeded else {
            let command = ([name] + arguments).joined(separator: " ")
            throw BenchFailure("“\(command)”: \(process.text.trimmingCharacters(in: .whitespacesAndNewlines))")
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
