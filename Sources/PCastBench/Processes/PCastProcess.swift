import Foundation
import PCastIO
import PCastJSON
import PCastMedia

/// A process of the program `pcast`, or another that lies beside this one, and the events that it tells.
final class PCastProcess: Sendable {
    /// In order; to be read by one reader.
    let events: AsyncStream<JSONObject>
    private let command: String
    private let process = Process()
    private let reader: WorkerThread

    /// - Parameters:
    ///   - arguments: without `--json`, which is added.
    ///   - program: which one.
    ///   - environment: beside what this process has; secrets belong here, where other users cannot see them.
    ///   - prefix: a command that runs another one in surroundings of its own.
    init(
        _ arguments: [String], of program: String = "pcast", environment: [String: String] = [:],
        behind prefix: [String] = []
    ) throws {
        command = "\(program) " + arguments.joined(separator: " ")
        let output = Pipe()
        if let first = prefix.first {
            process.executableURL = try SystemProgram.url(of: first)
            process.arguments = try prefix.dropFirst() + [Self.url(of: program).path] + arguments + ["--json"]
        } else {
            process.executableURL = try Self.url(of: program)
            process.arguments = arguments + ["--json"]
        }
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        let (events, continuation) = AsyncStream<JSONObject>.makeStream()
        self.events = events
        try process.run()
        let descriptor = output.fileHandleForReading
        reader = try WorkerThread(name: "bench-reader") {
            Self.read(descriptor, into: continuation)
        }
    }

    private static func url(of name: String) throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name)
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw BenchFailure("\(program.path) is missing: build the product \(name), too")
        }
        return program
    }

    private static func read(_ handle: FileHandle, into events: AsyncStream<JSONObject>.Continuation) {
        var line = Data()
        while case let bytes = handle.availableData, !bytes.isEmpty {
            for byte in bytes {
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                if let object = JSONObject(text: String(decoding: line, as: UTF8.self)) { events.yield(object) }
                line.removeAll(keepingCapacity: true)
            }
        }
        events.finish()
    }

    /// The next event of this name; those before it are skipped.
    ///
    /// - Throws: `BenchFailure` when the program ended before, or did not tell it in time.
    func next(_ name: String, within patience: Duration = .seconds(20)) async throws -> JSONObject {
        let watchdog = Task { [process] in
            try await Task.sleep(for: patience)
            process.terminate()
        }
        defer { watchdog.cancel() }
        var last = "nothing"
        for await event in events {
            if event["event"] == .string(name) { return event }
            if event["event"] == .string("ended") { last = event.text }
        }
        throw BenchFailure("“\(command)” did not come to “\(name)”; it told \(last)")
    }

    var processID: Int32 { process.processIdentifier }

    /// The process has no processor for so long.
    func standStill(for span: TimeSpan) async throws {
        kill(processID, SIGSTOP)
        defer { kill(processID, SIGCONT) }
        try await Task.sleep(for: .nanoseconds(span.nanoseconds))
    }

    /// Asks it to end as Ctrl-C does.
    func interrupt() {
        if process.isRunning { process.interrupt() }
    }

    /// Ends it as Ctrl-C does, and waits until it has.
    func stop() {
        interrupt()
        process.waitUntilExit()
        reader.join()
    }
}
