import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastJSON

/// A process of `pcast`, or of another program of this build, and its JSON events.
final class PCastProcess: Sendable {
    /// The events in order; there may be only one reader.
    let events: AsyncStream<JSONObject>
    private let command: String
    private let process = Process()
    private let reader: WorkerThread

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments without `--json`, which is added.
    ///   - program: Its name; it must be in the directory of this program.
    ///   - environment: Variables beside those of this process. Secrets belong here and not in arguments, which other
    ///     users can read.
    ///   - prefix: A command that runs another command, such as in a namespace.
    /// - Throws: `BenchFailure` if the program is missing, or the error of the start.
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
            throw BenchFailure("\(program.path) is missing: build the product \(name)")
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

    /// Returns the next event with a name; earlier events are discarded. Throws `BenchFailure` if the program ends
    /// before, or does not report it in time.
    func next(_ name: String, within timeout: Duration = .seconds(20)) async throws -> JSONObject {
        let watchdog = Task { [process] in
            try await Task.sleep(for: timeout)
            process.terminate()
        }
        defer { watchdog.cancel() }
        var last = "nothing"
        for await event in events {
            if event["event"] == .string(name) { return event }
            if event["event"] == .string("ended") { last = event.text }
        }
        throw BenchFailure("“\(command)” did not report “\(name)”; its last line is \(last)")
    }

    var processID: Int32 { process.processIdentifier }

    /// Suspends the process for the given time (SIGSTOP, SIGCONT).
    func suspend(for span: TimeSpan) async throws {
        kill(processID, SIGSTOP)
        defer { kill(processID, SIGCONT) }
        try await Task.sleep(for: .nanoseconds(span.nanoseconds))
    }

    /// Sends SIGINT if the process is running.
    func interrupt() {
        if process.isRunning { process.interrupt() }
    }

    /// Sends SIGINT and waits for the end of the process.
    func stop() {
        interrupt()
        process.waitUntilExit()
        reader.join()
    }

    /// Sends SIGINT, and SIGKILL if the process has not ended in time. Waits for its end.
    func stop(within limit: TimeSpan) {
        interrupt()
        let end = MonotonicClock.now() + limit
        while process.isRunning, MonotonicClock.now() < end { usleep(10_000) }
        terminateAtOnce()
    }

    /// Sends SIGKILL and waits for the end of the process.
    func terminateAtOnce() {
        if process.isRunning { kill(processID, SIGKILL) }
        process.waitUntilExit()
        reader.join()
    }
}
