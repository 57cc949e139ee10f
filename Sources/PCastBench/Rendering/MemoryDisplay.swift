import Foundation

/// An X server whose screen is memory (Xvfb), for as long as it is held, under a number that it finds itself.
final class MemoryDisplay {
    /// `:N`.
    let name: String
    private let process = Process()

    /// - Throws: `BenchFailure` where Xvfb is not installed or does not start.
    init(size: String) throws {
        let path = "/usr/bin/Xvfb"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchFailure("Xvfb is needed, which is not installed (apt-get install xvfb)")
        }
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "\(size)x24"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var text = ""
        while !text.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw BenchFailure("Xvfb did not start") }
            text += String(decoding: data, as: UTF8.self)
        }
        name = ":" + text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit { end() }

    /// What it has taken of the processors, in seconds; nil when nobody knows.
    var processor: Double? {
        let text = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        // The second field is in parentheses, and may hold spaces.
        guard let fields = text?.split(separator: ")").last?.split(separator: " "), fields.count > 12,
            let user = Double(fields[11]), let system = Double(fields[12])
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    func end() {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}
