import Foundation
import PCastIO
import Synchronization
import Testing

struct SpawnedProcessTests {
    @Test("a program runs in the given folder, and ends by a signal that its starter blocks")
    func starting() throws {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let (input, output, messages) = (try ProcessPipe(), try ProcessPipe(), try ProcessPipe())
        let process = try SpawnedProcess(
            "/bin/sh", ["-c", "pwd; echo ready >&2; read order"], environment: [:], folder: "/usr", isApart: false,
            input: input.read, output: output.write, messages: messages.write)
        #expect(line(from: output.read) == "/usr\n")
        #expect(line(from: messages.read) == "ready\n")
        process.send(SIGTERM)
        #expect(process.wait() == .signal(SIGTERM))
        #expect(process.processID == nil)
        // The process does not exist any more.
        process.send(SIGTERM)
    }

    @Test("a program receives further descriptors, and a socket to it breaks without a signal")
    func further() throws {
        let (ours, theirs) = try ProcessSocket.pair()
        let nothing = try Descriptor.null()
        let process = try spawn("read word <&3; echo $word again >&4", nothing, [theirs, theirs])
        #expect(ours.write(Array("once\n".utf8)))
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = bytes.withUnsafeMutableBytes { ours.read(into: $0) }
        #expect(String(decoding: bytes.prefix(count), as: UTF8.self) == "once again\n")
        #expect(process.wait() == .exit(0))
        withExtendedLifetime(theirs) {}
    }

    @Test("the output of a program until its end is read from the requested descriptors")
    func finished() throws {
        func run(_ words: String, _ recording: FinishedProcess.RecordedOutputs) throws -> FinishedProcess {
            try FinishedProcess(
                running: "/bin/sh", ["-c", words], environment: ["X": "y"], folder: "/usr", recording: recording)
        }
        let words = "pwd; echo $X >&2; cat; exit 3"
        #expect(try run(words, .output).text == "/usr\n")
        #expect(try run(words, .messages).text == "y\n")
        let both = try run(words, .both)
        #expect(both.text == "/usr\ny\n" && both.end == .exit(3) && !both.hasSucceeded)
        let long = try run("head -c 1000000 /dev/zero | tr '\\0' x", .output)
        #expect(long.text.utf8.count == 1_000_000 && long.hasSucceeded)
        #expect(throws: IOError.self) { try FinishedProcess(running: "/nonexistent", [], environment: [:]) }
    }

    @Test("writing to a program that has ended is rejected")
    func broken() throws {
        var pair: (ours: ProcessSocket, theirs: Descriptor)? = try ProcessSocket.pair()
        let ours = try #require(pair).ours
        pair = nil
        #expect(!ours.write([1]))
        var byte: [UInt8] = [0]
        #expect(byte.withUnsafeMutableBytes { ours.read(into: $0) } == 0)
        ours.end()
    }

    private func spawn(_ script: String, _ nothing: Descriptor, _ further: [Descriptor]) throws -> SpawnedProcess {
        try SpawnedProcess(
            "/bin/sh", ["-c", script], environment: [:], isApart: true, input: nothing, output: nothing,
            messages: nothing, further: further)
    }

    private func line(from pipe: Descriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(pipe.number, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test("a missing folder is an error")
    func missing() throws {
        let nothing = try Descriptor.null()
        #expect(throws: IOError.self) {
            try SpawnedProcess(
                "/bin/true", [], environment: [:], folder: "/nonexistent", isApart: true, input: nothing,
                output: nothing, messages: nothing)
        }
    }
}

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
