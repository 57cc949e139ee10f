import Foundation
import PCastIO

/// One run of the program `PCastForwarding`, which is built beside the tests.
struct ForwardingRun {
    /// The counts that the program printed: `packets`, `runs`, `allocations`.
    let counts: [String: Int]

    var packets: Int { counts["packets"] ?? 0 }

    static let isOptimized: Bool = {
        var isDebug = false
        assert(
            {
                isDebug = true
                return true
            }())
        return !isDebug
    }()

    /// The paths of programs of the system; nil if they are not installed.
    static let valgrind = installed("valgrind")
    static let compiler = installed("cc")
    /// The path of the program; nil if it was not built with the tests.
    static let program: String? = {
        let bundles = CommandLine.arguments.filter { $0.contains(".xctest") || $0.hasSuffix("PackageTests") }
        let repository = (1...3).reduce(#filePath) { path, _ in parent(path) }
        let folders =
            [Bundle.main.bundlePath] + bundles.map(parent) + [parent(CommandLine.arguments[0])]
            + ["release", "debug"].map { "\(repository)/.build/\($0)" }
        return folders.map { "\($0)/PCastForwarding" }.first(where: FileManager.default.isExecutableFile)
    }()
    static let allocationCounter = (1...3).reduce(#filePath) { path, _ in parent(path) } + "/scripts/malloc-counter.c"

    private static func parent(_ path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    private static func installed(_ name: String) -> String? {
        ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/\(name)" }
            .first(where: FileManager.default.isExecutableFile)
    }

    /// Runs a program to its end, and reads its output as lines of `name=number`.
    init(_ arguments: [String], environment: [String: String] = [:]) async throws {
        let output = try await Self.run(arguments, environment: environment)
        counts = output.split(separator: "\n").reduce(into: [:]) { counts, line in
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2, let number = Int(parts[1]) { counts[String(parts[0])] = number }
        }
    }

    struct Failure: Error {
        let command: String
        let output: String
    }

    /// Runs a program to its end and returns its output. The call waits on its own thread, because other tests need the
    /// shared ones.
    @discardableResult
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try output(of: arguments, environment: environment) })
            }
        }
    }

    private static func output(of arguments: [String], environment: [String: String]) throws -> String {
        let process = try FinishedProcess(
            running: arguments[0], Array(arguments.dropFirst()),
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
        guard process.hasSucceeded else {
            throw Failure(command: arguments.joined(separator: " "), output: process.text)
        }
        return process.text
    }
}
