import Foundation
import Synchronization
import Testing

/// An X server of the test's own, whose screen is memory (Xvfb): on a display number that it finds itself, and reached
/// by no network.
final class TestXServer: Sendable {
    /// `:N`.
    let display: String
    private let process: Process
    private let folder: String?

    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb")

    struct DidNotStart: Error {}

    /// - Parameters:
    ///   - screens: sizes with depths, such as `800x600x24`.
    ///   - options: others of Xvfb's.
    ///   - wantsCookie: whether it refuses whoever does not know a secret.
    init(screens: [String] = ["800x600x24"], options: [String] = [], wantsCookie: Bool = false) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
        var arguments = ["-displayfd", "1", "-nolisten", "tcp", "-noreset"]
        for (index, screen) in screens.enumerated() { arguments += ["-screen", "\(index)", screen] }
        if wantsCookie {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
                .path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            // One entry: any host, any display, the protocol's name and sixteen bytes.
            let name = Array("MIT-MAGIC-COOKIE-1".utf8)
            let entry =
                [0xFF, 0xFF, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, 16] + [UInt8](repeating: 7, count: 16)
            try Data(entry).write(to: URL(fileURLWithPath: "\(folder)/cookie"))
            arguments += ["-auth", "\(folder)/cookie"]
            self.folder = folder
        } else {
            folder = nil
        }
        process.arguments = arguments + options
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        // Swift's own threads block most signals, and a program inherits that: it could not be told to end.
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        let result = Result { try process.run() }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        try result.get()
        self.process = process
        // Written when it listens.
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.last != 0x0A {
            let count = read(output.fileHandleForReading.fileDescriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { throw DidNotStart() }
            line.append(byte)
        }
        display = ":" + String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        end()
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    /// Harmless when called again.
    func end() {
        guard process.isRunning else { return }
        resume()
        process.terminate()
        process.waitUntilExit()
    }

    /// Stops it where it stands, and lets it go on.
    func freeze() { kill(process.processIdentifier, SIGSTOP) }
    func resume() { kill(process.processIdentifier, SIGCONT) }
}
