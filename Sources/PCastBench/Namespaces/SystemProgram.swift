import Foundation

/// A program of the system, run to its end.
enum SystemProgram {
    /// - Throws: `BenchFailure` with what it said when it did not end well.
    static func run(_ name: String, _ arguments: [String]) throws {
        let process = Process()
        let complaint = Pipe()
        process.executableURL = try url(of: name)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = complaint
        try process.run()
        let text = String(decoding: complaint.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let command = ([name] + arguments).joined(separator: " ")
            throw BenchFailure("“\(command)”: \(text.trimmingCharacters(in: .whitespacesAndNewlines))")
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
