import Foundation
import Synchronization

/// `PCastWindowing`, a program beside the tests, with its own display.
final class WindowProgram: Sendable {
    struct Silent: Error, CustomStringConvertible {
        let description: String
    }

    private struct State {
        var answers: [String] = []
        var events: [String] = []
        var rest = Data()
    }

    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private let state = Mutex(State())

    /// The path of the program; nil if it was not built.
    static let path: String? = {
        var folders = [Bundle.main.bundlePath, "\(Bundle.main.bundlePath)/.."]
        if let own = CommandLine.arguments.first {
            folders.append(URL(fileURLWithPath: own).deletingLastPathComponent().path)
        }
        return folders.map { "\($0)/PCastWindowing" }.first(where: FileManager.default.isExecutableFile)
    }()

    /// Starts the program on a display; nil for none.
    init(display: String?) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: Self.path!)
        var environment = ProcessInfo.processInfo.environment
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_RENDER_DRIVER"] { environment[name] = nil }
        environment["DISPLAY"] = display
        process.environment = environment
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// Ends it, and waits for the end. Returns its exit status.
    @discardableResult
    func end() -> Int32 {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Returns the program's answer to a command.
    func ask(_ command: String) throws -> String {
        try give(command)
        return try answer()
    }

    /// Sends a command whose answer is read later.
    func give(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
    }

    func answer() throws -> String { try next { $0.answers } }

    /// Waits for an event with this beginning. Earlier ones are dropped.
    func event(_ beginning: String) throws -> String {
        while true {
            let event = try next { $0.events }
            if event.hasPrefix(beginning) { return event }
        }
    }

    /// Returns the oldest line of a kind. Waits for it while the program runs.
    private func next(_ lines: (inout State) -> [String]) throws -> String {
        while true {
            let line: String? = state.withLock { state in
                guard let first = lines(&state).first else { return nil }
                if state.answers.first == first, !first.hasPrefix("event ") {
                    state.answers.removeFirst()
                } else {
                    state.events.removeFirst()
                }
                return first
            }
            if let line { return line }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                process.waitUntilExit()
                throw Silent(description: "the program with the window has ended with \(process.terminationStatus)")
            }
            state.withLock { state in
                state.rest.append(data)
                while let end = state.rest.firstIndex(of: 0x0A) {
                    let line = String(decoding: state.rest[state.rest.startIndex..<end], as: UTF8.self)
                    state.rest.removeSubrange(state.rest.startIndex...end)
                    if line.hasPrefix("event ") { state.events.append(line) } else { state.answers.append(line) }
                }
            }
        }
    }
}
