import Foundation
import Synchronization
import Testing

/// The environment of one test: a folder, a runtime directory in which its platforms are found, and the programs that
/// it starts. Everything is ended and removed at the end, but the output of programs is kept if the test fails.
final class TestWorkspace: Sendable {
    let folder: URL
    private let programs = Mutex<[RunningProgram]>([])
    private let lastNumber = Mutex(0)
    private let hasFailed = Mutex(false)

    /// The workspace of the running test.
    @TaskLocal static var current: TestWorkspace?

    private init() throws {
        let name = "pcast-end-to-end-\(UUID().uuidString.prefix(8))"
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: runtimeDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Runs a test in its own workspace.
    static func run(_ test: (TestWorkspace) async throws -> Void) async throws {
        let workspace = try TestWorkspace()
        let result: Result<Void, any Error>
        do {
            result = .success(try await $current.withValue(workspace) { try await test(workspace) })
        } catch {
            workspace.noteFailure()
            result = .failure(error)
        }
        await workspace.close()
        try result.get()
    }

    func noteFailure() { hasFailed.withLock { $0 = true } }

    private func close() async {
        // The programs end in reverse order, because the one that created a network namespace must end after those
        // inside.
        for program in programs.withLock({ $0 }).reversed() { try? await program.end() }
        if hasFailed.withLock({ $0 }) {
            print("What the programs wrote is kept in \(folder.path)")
        } else {
            try? FileManager.default.removeItem(at: folder)
        }
    }

    // MARK: Files

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// The value of `XDG_RUNTIME_DIR` for programs.
    var runtimeDirectory: String { path("run") }

    /// The credentials that platforms stored for other programs of this user.
    var credentialsFiles: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "\(runtimeDirectory)/pcast")
        return (names ?? []).map { "\(runtimeDirectory)/pcast/\($0)" }
    }

    // MARK: Programs

    /// Starts a program, whose output is kept under its name and a number.
    ///
    /// `recovers` is whether `pcast publish` and `pcast subscribe` retry when their stream ends. `hears` is whether the
    /// program reads standard input. `variables` are added to the environment.
    func start(
        _ program: String, _ arguments: [String], limit: Duration = .longestRun, recovers: Bool = false,
        hears: Bool = false, variables: [String: String] = [:]
    ) throws -> RunningProgram {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PCAST_") }
        environment["XDG_RUNTIME_DIR"] = runtimeDirectory
        environment["PCAST_LOG_LEVEL"] = "info"
        // Tests wait for the end of programs, except for tests of reconnecting.
        if !recovers {
            environment["PCAST_PUBLISH_NO_RECONNECT"] = "true"
            environment["PCAST_SUBSCRIBE_NO_RECONNECT"] = "true"
        }
        environment.merge(variables) { _, own in own }
        // The number is assigned before the program runs, so that concurrent programs write to different files.
        let number = lastNumber.withLock { number in
            number += 1
            return number
        }
        let names = ([program] + arguments).map { URL(fileURLWithPath: $0).lastPathComponent }
        let name = names[0] == "namespace.sh" ? names[2] : names[0] == "pcast" ? names[1] : names[0]
        let running = try RunningProgram(
            "\(number)-\(name)", program, arguments, environment: environment, folder: folder, hears: hears,
            limit: limit)
        programs.withLock { $0.append(running) }
        return running
    }

    /// Starts `pcast` with events as JSON.
    func pcast(
        _ arguments: String..., limit: Duration = .longestRun, variables: [String: String] = [:]
    ) throws -> RunningProgram {
        try start(BuiltProgram.path("pcast"), arguments + ["--json"], limit: limit, variables: variables)
    }

    /// Runs a program that must succeed without error output, and returns its output.
    @discardableResult
    func run(
        _ program: String, _ arguments: [String], limit: Duration = .longestRun
    ) async throws -> (output: [String], messages: [String]) {
        guard let path = program.contains("/") ? program : BuiltProgram.installed(program) else {
            throw EndToEndFailure("\(program) is not installed")
        }
        let running = try start(path, arguments, limit: limit)
        let status = try await running.exitStatus(within: limit + .seconds(20))
        guard status == 0 else { throw EndToEndFailure("\(program) exited with \(status)\n\(running.report)") }
        return (running.output.lines.values, running.messages.lines.values)
    }

    /// Returns a token of an application from `pcast token create`.
    func token(_ application: String, _ options: String...) async throws -> String {
        let arguments = ["token", "create", "--application", application, "--expires-in", "1h"] + options
        let lines = try await run(BuiltProgram.path("pcast"), arguments).output
        return try #require(lines.first)
    }
}

extension Trait where Self == IssueHandlingTrait {
    /// Keeps the output of programs if an expectation fails.
    static var keepsOutputOfFailures: Self {
        .compactMapIssues { issue in
            TestWorkspace.current?.noteFailure()
            return issue
        }
    }
}
