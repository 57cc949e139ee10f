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
        let (ends, told) = AsyncStream.makeStream(of: ChildProcess.End.self)
        let child = try ChildProcess(
            "/bin/sh", ["-c", script], environment: ["GREETING": "hello"], input: input,
            line: { line in lines.withLock { $0.append(line) } }, ended: { told.yield($0) })
        try body(child)
        let end = try #require(await ends.first { _ in true })
        #expect(child.processID == nil)
        return (lines.withLock { $0 }, end)
    }

    @Test("A child gets its order, tells line by line, and its end is known")
    func lines() async throws {
        let (lines, end) = try await run("read order; echo \"$order $GREETING\"; echo b >&2; exit 3", input: "a\n")
        #expect(lines == ["a hello", "b"])
        #expect(end == .exit(3))
    }

    @Test("A child that reads on ends when it is told to, as it would when this process died")
    func ending() async throws {
        let (_, end) = try await run("cat > /dev/null") { $0.end() }
        #expect(end == .exit(0))
    }

    @Test("A child that does not listen is killed")
    func killing() async throws {
        let (_, end) = try await run("while :; do sleep 1; done") { $0.kill() }
        #expect(end == .signal(9))
    }

    @Test("A child inherits no descriptor and no ignored signal")
    func inheritance() async throws {
        let (lines, _) = try await run("ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status")
        // Three, and the folder that is being listed.
        #expect(Int(lines.first?.trimmingCharacters(in: .whitespaces) ?? "") == 4)
        // Signals 32 and 33 are the C library's own.
        #expect(lines.last?.hasSuffix("0000000") == true, "\(lines)")
    }

    @Test("A program that is not there is an error")
    func missing() {
        #expect(throws: IOError.self) {
            try ChildProcess("/nonexistent", [], environment: [:], input: "", line: { _ in }, ended: { _ in })
        }
    }
}
