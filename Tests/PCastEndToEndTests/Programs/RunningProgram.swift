import Foundation
import PCastIO

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
