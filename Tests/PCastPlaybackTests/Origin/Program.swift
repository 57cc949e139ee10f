import Foundation
import PCastIO

/// A program of the system.
enum Program {
    static let ffmpeg = ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/ffmpeg" }.first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static var hasFFmpeg: Bool { ffmpeg != nil }

    /// Runs FFmpeg with arguments that are separated by single spaces.
    static func runFFmpeg(_ arguments: String, in folder: String) throws {
        let process = try FinishedProcess(
            running: ffmpeg ?? "/nonexistent",
            ["-v", "error", "-nostdin", "-y"] + arguments.split(separator: " ").map(String.init),
            environment: ProcessInfo.processInfo.environment, folder: folder, recording: .messages)
        guard process.hasSucceeded else { throw ProgramFailure(arguments: arguments, errors: process.text) }
    }
}

struct ProgramFailure: Error, CustomStringConvertible {
    var arguments: String
    var errors: String

    var description: String { "ffmpeg \(arguments): \(errors)" }
}

/// A folder that is removed at the end of the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pcast-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }
}
