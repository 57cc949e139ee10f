import Foundation
import PCastIO

/// An X server with a virtual screen (Xvfb) on an unused display number; it ends with the object.
final class MemoryDisplay {
    /// The name of the display, `:N`.
    let name: String
    private let process: SpawnedProcess

    /// Starts Xvfb with a screen of the given size. Throws `BenchFailure` if Xvfb is not installed or does not start.
    init(size: String) throws {
        let path = "/usr/bin/Xvfb"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchFailure("Xvfb is not installed: run apt-get install xvfb")
        }
        let (process, output) = try Self.start(path, size: size)
        self.process = process
        var text = ""
        var byte: UInt8 = 0
        while !text.hasSuffix("\n"), read(output.number, &byte, 1) == 1 {
            text.append(Character(Unicode.Scalar(byte)))
        }
        guard text.hasSuffix("\n") else { throw BenchFailure("Xvfb did not start") }
        name = ":" + text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the server and the read end of its output. Only the server holds the write end, so that reading ends
    /// when the server does.
    private static func start(_ path: String, size: String) throws -> (SpawnedProcess, Descriptor) {
        let (null, output) = (try Descriptor.null(), try ProcessPipe())
        let process = try SpawnedProcess(
            path, ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "\(size)x24"],
            environment: ["PATH": "/usr/bin:/bin"], isApart: true, input: null, output: output.write, messages: null)
        return (process, output.read)
    }

    deinit { end() }

    /// The CPU time of the server in seconds; nil if it is not available.
    var processor: Double? {
        guard let number = process.processID else { return nil }
        let text = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)
        // The second field of /proc/PID/stat is in parentheses and may contain spaces (proc_pid_stat(5)).
        guard let fields = text?.split(separator: ")").last?.split(separator: " "), fields.count > 12,
            let user = Double(fields[11]), let system = Double(fields[12])
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    func end() {
        guard process.processID != nil else { return }
        process.send(SIGTERM)
        _ = process.wait()
    }
}
