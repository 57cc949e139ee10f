import Foundation
import PCastIO
import PCastJSON

/// Headless Chromium as a peer, controlled by a script of the end-to-end tests that reports Chromium's statistics.
final class ChromiumPeer: Sendable {
    private static let folder = "Tests/PCastEndToEndTests/peers"

    private let process = Process()
    private let output = Pipe()
    private let name: String

    /// Starts `watch_chromium.py` or `publish_chromium.py` in a namespace; nil for that of this process. Chromium treats
    /// `origin`, the page's origin, as secure although it does not use TLS. Throws `BenchFailure` if the script is missing.
    init(_ program: String, _ arguments: [String], origin: String, in namespace: NetworkNamespace?) throws {
        name = program
        guard FileManager.default.isReadableFile(atPath: "\(Self.folder)/\(program)") else {
            throw BenchFailure("\(Self.folder)/\(program) is missing: start this in the package's folder")
        }
        let command = (namespace?.prefix ?? []) + ["python3", "\(Self.folder)/\(program)"]
        process.executableURL = try SystemProgram.url(of: command[0])
        process.arguments =
            command.dropFirst() + arguments + ["--flag=--unsafely-treat-insecure-origin-as-secure=\(origin)"]
        process.standardInput = FileHandle.nullDevice
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
