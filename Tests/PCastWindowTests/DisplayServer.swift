import Foundation

/// A test's own X server with a screen in memory (Xvfb). It finds a display number itself.
final class DisplayServer: Sendable {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb")

    /// The display, such as `:N`.
    let display: String
    private let process: Process

    init(width: Int = 800, height: Int = 600) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
        process.arguments = [
            "-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "\(width)x\(height)x24",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The server writes the number when it listens.
        var number = ""
        while !number.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            number += String(decoding: data, as: UTF8.self)
        }
        guard let first = number.split(separator: "\n").first else {
            throw WindowProgram.Silent(description: "Xvfb did not start")
        }
        display = ":\(first)"
    }

    deinit { end() }

    /// Ends the server. A second call has no effect.
    func end() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }
}
