import Foundation
import PCastIO
import Testing

struct SpawnedProcessTests {
    @Test("A program runs in the folder that is named, and ends by a signal that its starter blocks")
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
        // Nobody any more.
        process.send(SIGTERM)
    }

    private func line(from pipe: Descriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(pipe.number, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test("A folder that is not there is an error")
    func missing() throws {
        let nothing = try Descriptor.null()
        #expect(throws: IOError.self) {
            try SpawnedProcess(
                "/bin/true", [], environment: [:], folder: "/nonexistent", isApart: true, input: nothing,
                output: nothing, messages: nothing)
        }
    }
}
