import Foundation
import PCastIO
import PCastJSON

/// Headless Chromium as a peer, controlled by a script of the end-to-end tests that reports Chromium's statistics.
final class ChromiumPeer: Sendable {
    private static let folder = "Tests/PCastEndToEndTests/peers"

    private let process = Process()
    private let output = Pipe()
    private let name: String

    /// Starts `watch_chromium.py` or `publish_chromium.py` in a namespace. Chromium treats `origin`, the page's origin,
    /// as secure although it does not use TLS. Throws `BenchFailure` if the script is missing.
    init(_ program: String, _ arguments: [String], origin: String, in namespace: NetworkNamespace) throws {
        name = program
        guard FileManager.default.isReadableFile(atPath: "\(Self.folder)/\(program)") else {
            throw BenchFailure("\(Self.folder)/\(program) is missing: start this in the package's folder")
        }
        process.executableURL = try SystemProgram.url(of: namespace.prefix[0])
        process.arguments =
            namespace.prefix.dropFirst() + ["python3", "\(Self.folder)/\(program)"] + arguments
            + ["--flag=--unsafely-treat-insecure-origin-as-secure=\(origin)"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// Returns the stream ID that a publisher prints first. Throws `BenchFailure` if it prints none.
    func streamID() throws -> String {
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
            guard byte[byte.startIndex] == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            if words.count == 2, words[0] == "streamID" { return String(words[1]) }
            line.removeAll()
        }
        throw BenchFailure("\(name) did not report its stream")
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
