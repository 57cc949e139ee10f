import Foundation
import PCastIO
import Testing

/// A process that a test started. It ends by itself, by `end`, or at its time limit.
final class RunningProgram: Sendable {
    let name: String
    let output: ProgramOutput
    let messages: ProgramOutput
    private let process: SpawnedProcess
    private let input: Descriptor
    private let exits = Awaited<Int32>()

    /// Starts a program. `hears` is whether it reads what `notify` writes; otherwise its input is empty. It is ended
    /// after `limit`. Its output is kept in `folder`, in files that begin with `name`.
    init(
        _ name: String, _ program: String, _ arguments: [String], environment: [String: String], folder: URL,
        hears: Bool = false, limit: Duration
    ) throws {
        self.name = name
        let (words, complaints, orders) = (try ProcessPipe(), try ProcessPipe(), try ProcessPipe())
        input = orders.write
        process = try SpawnedProcess(
            program, arguments, environment: environment, folder: folder.path, isApart: false,
            input: hears ? orders.read : .null(), output: words.write, messages: complaints.write)
        output = ProgramOutput(from: words.read, to: folder.appendingPathComponent("\(name).out"))
        messages = ProgramOutput(from: complaints.read, to: folder.appendingPathComponent("\(name).err"))
        Thread.detachNewThread { [process, exits] in
            // As in a shell, the number of a signal that ended the program is added to 128.
            switch process.wait() {
            case .exit(let status): exits.add(status)
            case .signal(let signal): exits.add(128 + signal)
            }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds) { [weak self] in self?.kill() }
    }

    /// The process ID while the program is running.
    var processID: Int32? { process.processID }

    var isRunning: Bool { exits.values.isEmpty }

    func send(_ signal: Int32) { process.send(signal) }

    /// Ends the program by a signal, because it may have children to end, and kills it after fifteen seconds.
    private func kill() {
        guard isRunning else { return }
        send(SIGTERM)
        DispatchQueue.global().asyncAfter(deadline: .now() + 15) { self.send(SIGKILL) }
    }

    /// Waits for the end, and returns the exit status after all output has been read.
    @discardableResult
    func exitStatus(within limit: Duration = .timeout) async throws -> Int32 {
        guard let status = await exits.first(within: limit) else {
            throw EndToEndFailure("\(name) still runs after \(limit)\n\(report)")
        }
        // A child that outlives the program may keep its outputs open.
        for lines in [output.lines, messages.lines] { _ = await lines.first(within: .seconds(20)) { _ in false } }
        return status
    }

    /// Waits for the end, and records an issue with the program's output if it ended with another status.
    func expectExitStatus(_ expected: Int32, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let status = try await exitStatus()
        #expect(status == expected, "\(report)", sourceLocation: sourceLocation)
    }

    /// Ends the program if it is still running.
    func end(by signal: Int32 = SIGTERM) async throws {
        send(signal)
        if await exits.first(within: .seconds(30)) == nil { send(SIGKILL) }
        try await exitStatus()
    }

    /// Writes a line to its standard input.
    func notify(_ line: String) throws {
        let bytes = Array("\(line)\n".utf8)
        guard write(input.number, bytes, bytes.count) == bytes.count else {
            throw EndToEndFailure("\(name) does not hear “\(line)”\n\(report)")
        }
    }

    // MARK: Events

    /// Waits for the first matching event of a name, past or future.
    func event(
        _ name: String, within limit: Duration = .timeout,
        where matches: @escaping @Sendable (JSON) -> Bool = { _ in true }
    ) async throws -> JSON {
        let line = await output.lines.first(within: limit) { line in
            guard let event = JSON(line: line) else { return false }
            return event["event"].text == name && matches(event)
        }
        guard let line, let event = JSON(line: line) else {
            throw EndToEndFailure("\(self.name) did not tell “\(name)” within \(limit)\n\(report)")
        }
        return event
    }

    /// Waits until the program has reported a number of statistics.
    func awaitStatistics(_ count: Int) async throws {
        _ = try await event("stats") { _ in self.events("stats").count >= count }
    }

    /// Returns all events of a name so far.
    func events(_ name: String) -> [JSON] {
        output.lines.values.compactMap(JSON.init(line:)).filter { $0["event"].text == name }
    }

    /// Waits for the first message on standard error that contains a text.
    func message(
        containing text: String, after earlier: Int = 0, within limit: Duration = .timeout
    ) async throws -> String {
        guard let line = await messages.lines.first(after: earlier, within: limit, where: { $0.contains(text) }) else {
            throw EndToEndFailure("\(name) did not say “\(text)” within \(limit)\n\(report)")
        }
        return line
    }

    /// The last lines that the program wrote.
    var report: String { "[\(name), output]\n\(output.tail)\n[\(name), messages]\n\(messages.tail)" }
}

/// The timeouts of tests.
///
/// Waiting costs nothing if the awaited event occurs. The timeouts suffice for a slow and busy machine. They are not
/// limits of performance, which tests calculate from the times that programs report.
extension Duration {
    /// The timeout for anything that a program does.
    static let timeout = Duration.seconds(90)

    /// The time after which a program that nobody ended is killed.
    static let longestRun = Duration.seconds(280)

    /// The same time for a program that all tests of a suite share.
    static let longestSuite = Duration.seconds(3_600)
}

/// The lines that a program writes to one of its outputs. They are stored in a file, and tests can wait for them.
final class ProgramOutput: Sendable {
    let lines = Awaited<String>()

    /// Reads on its own thread until the last writing process has ended.
    init(from pipe: Descriptor, to file: URL) {
        let lines = lines
        Thread.detachNewThread {
            let kept = fopen(file.path, "w")
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(pipe.number, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                fwrite(buffer, 1, count, kept)
                fflush(kept)
                rest += buffer[..<count]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.add(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeSubrange(...end)
                }
            }
            if !rest.isEmpty { lines.add(String(decoding: rest, as: UTF8.self)) }
            if let kept { fclose(kept) }
            lines.finish()
        }
    }

    /// The last lines, for the report of a failure.
    var tail: String { lines.values.suffix(12).joined(separator: "\n") }
}

/// The paths of the programs under test.
enum BuiltProgram {
    /// Returns the path of a program of this package, beside the tests or in the folder of `PCAST_BIN`.
    static func path(_ name: String) throws -> String {
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
            throw EndToEndFailure("\(name) is not built; looked in \(folders.joined(separator: ", "))")
        }
        return path
    }

    /// Returns the path of a program of the operating system; nil if it is not installed.
    static func installed(_ name: String) -> String? {
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = search.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"]
        return folders.map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }

    /// The folder of the peers' programs.
    static let peers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("peers").path

    /// The folder of the repository.
    static let repository = (1...4).reduce(#filePath) { path, _ in parent(path) }

    /// The script that runs commands in the virtual machine.
    static let machine = "\(repository)/scripts/machine"

    /// Returns the path of the program that runs all tests of the package.
    static func testBundle() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    private static let folders: [String] = {
        if let chosen = ProcessInfo.processInfo.environment["PCAST_BIN"] {
            return [FileManager.default.isExecutableFile(atPath: "\(chosen)/pcast") ? chosen : parent(chosen)]
        }
        // The test bundle is an argument of the program that runs it, and is beside the other programs.
        let bundles = CommandLine.arguments.filter { $0.contains(".xctest") || $0.hasSuffix("PackageTests") }
        return [Bundle.main.bundlePath] + bundles.map(parent) + [parent(CommandLine.arguments[0])]
            + ["release", "debug"].map { "\(repository)/.build/\($0)" }
    }()

    private static func parent(_ path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

/// Ports that a test chooses, because two programs have to know the same port, or a program needs the same port again.
///
/// They are below the range from which the kernel gives ports to sockets that ask for any (`ip_local_port_range`, ip(7)).
/// A port may nevertheless be in use, so whatever needs one is tried with other ports.
enum ChosenPort {
    static let range = 20_000..<32_000

    private static let attempts = 20

    /// Calls `body` with a port, and with another port as long as it returns nil, which says that the port is in use.
    ///
    /// - Parameters:
    ///   - count: The number of consecutive ports that `body` uses.
    ///   - body: A function that returns nil if the port is in use.
    /// - Returns: The value of `body`.
    /// - Throws: The error of `body`, or `EndToEndFailure` if all attempts found a port in use.
    static func find<Value>(count: Int = 1, _ body: (Int) async throws -> Value?) async throws -> Value {
        for _ in 0..<attempts {
            let port = Int.random(in: range.lowerBound...range.upperBound - count)
            if let value = try await body(port) { return value }
        }
        throw EndToEndFailure("each of \(attempts) ports in \(range) is in use")
    }

    /// Whether a socket of UDP has the port at any address of this machine.
    static func isInUse(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        return !isBound && errno == EADDRINUSE
    }
}

extension RunningProgram {
    /// Waits until it receives datagrams at a port, which no other socket has at its start, or has ended. FFmpeg, for
    /// example, does not tell when it listens. `table` returns the sockets of its network, as `/proc/net/udp` has them.
    func awaitDatagramPort(
        _ port: Int, table: () async throws -> String = { try String(contentsOfFile: "/proc/net/udp", encoding: .utf8) }
    ) async throws {
        // The ports of sockets are hexadecimal (proc_net_udp(5)).
        let digits = String(port, radix: 16, uppercase: true)
        let local = ":\(String(repeating: "0", count: 4 - digits.count))\(digits) "
        let end = ContinuousClock.now + .timeout
        while isRunning, try await !table().contains(local) {
            guard ContinuousClock.now < end else {
                throw EndToEndFailure("\(name) does not listen at \(port)\n\(report)")
            }
            try await ContinuousClock().sleep(for: .milliseconds(50))
        }
    }

    /// Whether it has ended because another socket has one of its ports.
    var foundPortInUse: Bool {
        let words = ["is in use", "another program listens on", "already in use"]
        return !isRunning && messages.lines.values.contains { line in words.contains { line.contains($0) } }
    }

    /// Waits for an event by which the program says that it listens; nil if another socket has one of its ports.
    func listens(_ event: String = "listening") async throws -> JSON? {
        do {
            return try await self.event(event)
        } catch {
            // The output ends before the process does.
            if (try? await exitStatus()) != nil, foundPortInUse { return nil }
            throw error
        }
    }
}
