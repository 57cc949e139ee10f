import Foundation
import PCastIO
import Synchronization
import Testing

struct ChildProcessTests {
    private func run(_ script: String, input: String = "", _ body: (ChildProcess) throws -> Void = { _ in })
        async throws
        -> (lines: [String], end: ChildProcess.End)
    {
        let lines = Mutex<[String]>([])
        let (ends, received) = AsyncStream.makeStream(of: ChildProcess.End.self)
        let child = try ChildProcess(
            "/bin/sh", ["-c", script], environment: ["GREETING": "hello"], input: input,
            line: { line in lines.withLock { $0.append(line) } }, ended: { received.yield($0) })
        try body(child)
        let end = try #require(await ends.first { _ in true })
        #expect(child.processID == nil)
        return (lines.withLock { $0 }, end)
    }

    @Test("a child receives its order, writes line by line, and its end is reported")
    func lines() async throws {
        let (lines, end) = try await run("read order; echo \"$order $GREETING\"; echo b >&2; exit 3", input: "a\n")
        #expect(lines == ["a hello", "b"])
        #expect(end == .exit(3))
    }

    @Test("a child that reads its input ends when it is closed, as it would if this process died")
    func ending() async throws {
        let (_, end) = try await run("cat > /dev/null") { $0.end() }
        #expect(end == .exit(0))
    }

    @Test("a child that does not react is killed")
    func killing() async throws {
        let (_, end) = try await run("while :; do sleep 1; done") { $0.kill() }
        #expect(end == .signal(9))
    }

    @Test("a child inherits no descriptor and no ignored signal")
    func inheritance() async throws {
        let (lines, _) = try await run("ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status")
        // These are three descriptors and that of the listed folder.
        #expect(Int(lines.first?.trimmingCharacters(in: .whitespaces) ?? "") == 4)
        // Signals 32 and 33 belong to the C library.
        #expect(lines.last?.hasSuffix("0000000") == true, "\(lines)")
    }

    @Test("a missing program is an error")
    func missing() {
        #expect(throws: IOError.self) {
            try ChildProcess("/nonexistent", [], environment: [:], input: "", line: { _ in }, ended: { _ in })
        }
    }
}
