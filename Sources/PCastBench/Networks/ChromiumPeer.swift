import Foundation
import PCastIO
import PCastJSON

/// Headless Chromium as a peer, controlled by a script of the end-to-end tests that reports Chromium's statistics.
final class ChromiumPeer: Sendable {
    private static let folder = "Tests/PCastEndToEndTests/peers"

    private let process = Process()
    private let output = Pipe()
    /// The input of a script that runs until its input ends; nil for one that ends by itself.
    private let input: Pipe?
    private let name: String

    /// Returns whether Chromium and a script are there.
    static func canRun(_ program: String) -> Bool {
        FileManager.default.isReadableFile(atPath: "\(folder)/\(program)")
            && (try? SystemProgram.url(of: "chromium")) != nil
    }

    /// Starts a script such as `watch_chromium.py` in a namespace; nil for that of this process. Chromium treats `origin`,
    /// the page's origin, as secure although it does not use TLS. If `endsByItself` is false, the script runs until
    /// `finish()`. Throws `BenchFailure` if the script is missing.
    init(
        _ program: String, _ arguments: [String], origin: String, in namespace: NetworkNamespace?,
        endsByItself: Bool = true
    ) throws {
        input = endsByItself ? nil : Pipe()
        name = program
        guard FileManager.default.isReadableFile(atPath: "\(Self.folder)/\(program)") else {
            throw BenchFailure("\(Self.folder)/\(program) is missing: start this in the package's folder")
        }
        let command = (namespace?.prefix ?? []) + ["python3", "\(Self.folder)/\(program)"]
        process.executableURL = try SystemProgram.url(of: command[0])
        process.arguments =
            command.dropFirst() + arguments + ["--flag=--unsafely-treat-insecure-origin-as-secure=\(origin)"]
        if let input { process.standardInput = input } else { process.standardInput = FileHandle.nullDevice }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// Returns the stream ID that a publisher prints first. Throws `BenchFailure` if it prints none.
    func streamID() throws -> String {
        while let line = try nextLine() {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == "streamID" { return String(words[1]) }
        }
        throw BenchFailure("\(name) did not report its stream")
    }

    /// Waits for a line that is a word. Throws `BenchFailure` if the script ends before.
    func wait(for word: String) throws {
        var lastLine = "empty"
        while let line = try nextLine() {
            if line == word { return }
            lastLine = line
        }
        throw BenchFailure("\(name) ended early; its last line is \(lastLine)")
    }

    /// Ends a script that does not end by itself, which then prints its statistics.
    func finish() { try? input?.fileHandleForWriting.close() }

    /// Waits until a viewer plays, and its measurement begins. Throws `BenchFailure` if it ends before.
    func awaitMeasurement() throws {
        while let line = try nextLine() {
            if line == "measuring" { return }
            if let metrics = JSONObject(text: line), case .string(let reason)? = metrics["error"] {
                throw BenchFailure("\(name): \(reason)")
            }
        }
        throw BenchFailure("\(name) did not begin to measure")
    }

    /// Returns the next line that the process prints; nil at the end of its output.
    private func nextLine() throws -> String? {
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
            if byte[byte.startIndex] == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// Waits for the end of the process and returns its statistics. Throws `BenchFailure` if it printed none or an
    /// error.
    func metrics() throws -> JSONObject {
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard let line = text.split(separator: "\n").last, let metrics = JSONObject(text: String(line)) else {
            throw BenchFailure("\(name) reported no statistics")
        }
        if case .string(let reason)? = metrics["error"] { throw BenchFailure("\(name): \(reason)") }
        return metrics
    }

    func stop() {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}
