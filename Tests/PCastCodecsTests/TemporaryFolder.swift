import Foundation
import PCastIO

/// Temporary files of one test, and the programs that create and check them.
enum TemporaryFolder {
    static func with<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.path)
    }
}

/// A program of the system.
enum Program {
    static func path(_ name: String) -> String? {
        ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/\(name)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    static var hasFFmpeg: Bool { path("ffmpeg") != nil && path("ffprobe") != nil }

    /// Runs the program and returns its output; nil if it failed.
    static func run(_ name: String, _ arguments: [String]) throws -> String? {
        let process = try FinishedProcess(
            running: path(name) ?? "/nonexistent", arguments, environment: ProcessInfo.processInfo.environment)
        return process.hasSucceeded ? process.text : nil
    }

    /// Creates a file with FFmpeg's own programs.
    static func makeMedia(_ path: String, _ arguments: String) throws {
        let words = arguments.split(separator: " ").map(String.init)
        guard try run("ffmpeg", ["-v", "error", "-y"] + words + [path]) != nil else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}
