import Glibc
import Synchronization

/// A program that reads bytes until the end of its standard input, writes other bytes to its standard output, and ends.
/// It processes data of untrusted clients, so it may connect nowhere if the kernel can enforce this
/// (``ConnectionLimits``).
package struct ConvertingProcess: Sendable {
    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    private let outputLimit: Int
    private let timeout: Duration

    /// Describes a program. It is killed if it writes more than `outputLimit` bytes, or runs longer than `timeout`.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String], outputLimit: Int, timeout: Duration
    ) {
        (self.program, self.arguments, self.environment) = (program, arguments, environment)
        (self.outputLimit, self.timeout) = (outputLimit, timeout)
    }

    /// Runs the program on bytes. Returns what it writes; nil if it cannot be started, is killed, fails, or writes
    /// nothing.
    package func convert(_ input: [UInt8]) async -> [UInt8]? {
        let run = Run()
        let alarm = Task {
            guard (try? await Task.sleep(for: timeout)) != nil else { return }
            run.kill()
        }
        defer { alarm.cancel() }
        return await withCheckedContinuation { continuation in
            do throws(IOError) {
                _ = try WorkerThread(name: "convert") {
                    continuation.resume(returning: convert(input, run))
                }
            } catch {
                continuation.resume(returning: nil)
            }
        }
    }

    /// The process of a run, which another thread may kill.
    private final class Run: Sendable {
        private struct State {
            var process: SpawnedProcess?
            var isKilled = false
        }

        private let state = Mutex(State())

        /// Sets the process. It is killed if the time is over already.
        func begin(_ process: SpawnedProcess) {
            let isKilled = state.withLock { state in
                state.process = process
                return state.isKilled
            }
            if isKilled { process.send(SIGKILL) }
        }

        func kill() {
            let process = state.withLock { state in
                state.isKilled = true
                return state.process
            }
            process?.send(SIGKILL)
        }
    }

    /// Runs the program, and blocks until it has ended.
    private func convert(_ input: [UInt8], _ run: Run) -> [UInt8]? {
        guard let (socket, process) = try? start() else { return nil }
        run.begin(process)
        var output: [UInt8]?
        // A program that does not read its input has failed.
        if socket.write(input) {
            socket.endWriting()
            output = read(socket)
        }
        if output == nil { process.send(SIGKILL) }
        return process.wait() == .exit(0) ? output : nil
    }

    /// Starts the program. Its end of the socket is closed in this process when the function returns. Throws an error if
    /// it cannot be started.
    private func start() throws(IOError) -> (ProcessSocket, SpawnedProcess) {
        let (ours, theirs) = try ProcessSocket.pair()
        let messages = try Descriptor.null()
        let spawn: @Sendable () throws(IOError) -> SpawnedProcess = { () throws(IOError) in
            try SpawnedProcess(
                program, arguments, environment: environment, isApart: true, input: theirs, output: theirs,
                messages: messages)
        }
        let process = try ConnectionLimits.hasPortRules ? ConnectionLimits.run(ports: [], spawn) : spawn()
        return (ours, process)
    }

    /// Reads until the program has closed its output. Returns nil if there is nothing, or too much.
    private func read(_ socket: ProcessSocket) -> [UInt8]? {
        var bytes: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = socket.read(into: buffer)
            if count <= 0 { return bytes.isEmpty ? nil : bytes }
            guard bytes.count + count <= outputLimit else { return nil }
            bytes += buffer[..<count]
        }
    }
}
