import CLinux
import Glibc
import Synchronization

/// A child process that ends with this process. Its standard input is a pipe, which breaks when this process ends for
/// any reason. The program must watch it.
///
/// Lines of both outputs are reported. The child inherits no other descriptor, no blocked or ignored signal, and only
/// the given environment.
package final class ChildProcess: Sendable {
    /// The way in which the process ended.
    package typealias End = SpawnedProcess.End

    private struct State {
        var input: Descriptor?
        /// The thread that reads the output. It is released when the process has ended.
        var thread: WorkerThread?
        var hasEnded = false
    }

    private let process: SpawnedProcess
    private let state: Mutex<State>

    /// Starts a program. `input` is written to its standard input and has at most 4 KiB, which a pipe accepts at once.
    /// `line` is called for each line of output on a separate thread; lines of more than 4 KiB are split. `ended` is
    /// called once after the last line.
    ///
    /// - Throws: ``IOError``.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String], input: String,
        line: @escaping @Sendable (String) -> Void, ended: @escaping @Sendable (End) -> Void
    ) throws(IOError) {
        let (orders, words) = (try ProcessPipe(), try ProcessPipe())
        process = try SpawnedProcess(
            program, arguments, environment: environment, isApart: true, input: orders.read, output: words.write,
            messages: words.write)
        state = Mutex(State(input: orders.write))
        Self.write(input, to: orders.write.number)
        let output = words.read
        let thread: WorkerThread
        do {
            thread = try WorkerThread(name: "child") { [self] in
                Self.read(output.number, line)
                let end = process.wait()
                state.withLock { $0 = State(hasEnded: true) }
                ended(end)
            }
        } catch {
            process.send(SIGKILL)
            _ = process.wait()
            throw error
        }
        state.withLock { if !$0.hasEnded { $0.thread = thread } }
        // The child's ends are closed in this process when they are released, so that the output ends with the child.
        withExtendedLifetime((orders, words)) {}
    }

    /// The process identifier; nil after the process has ended.
    package var processID: Int32? { process.processID }

    /// Closes the standard input of the process, which requests it to end.
    package func end() { state.withLock { $0.input = nil } }

    /// Kills the process.
    package func kill() {
        end()
        process.send(SIGKILL)
    }

    // MARK: Pipes

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if Errno.current != EINTR { return }
        }
    }

    private static let longestLine = 4_096

    private static func read(_ descriptor: Int32, _ line: (String) -> Void) {
        var waiting: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: longestLine)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, Errno.current == EINTR { continue }
            guard count > 0 else { break }
            for byte in buffer[..<count] {
                if byte != UInt8(ascii: "\n") { waiting.append(byte) }
                if byte == UInt8(ascii: "\n") || waiting.count == longestLine {
                    line(String(decoding: waiting, as: UTF8.self))
                    waiting.removeAll(keepingCapacity: true)
                }
            }
        }
        if !waiting.isEmpty { line(String(decoding: waiting, as: UTF8.self)) }
    }
}

/// A pipe to or from another program, which inherits only the end that it is given.
package struct ProcessPipe: Sendable {
    /// The read end.
    package let read: Descriptor
    /// The write end.
    package let write: Descriptor

    /// Creates a pipe.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if no descriptor is available.
    package init() throws(IOError) {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutableBytes(of: &ends) {
            clinux_pipe2($0.assumingMemoryBound(to: Int32.self).baseAddress!, Int32(CLINUX_O_CLOEXEC))
        }
        guard answer == 0 else { throw .system(call: "pipe2", errno: Errno.current) }
        read = try Descriptor(ends.0, from: "pipe2")
        write = try Descriptor(ends.1, from: "pipe2")
    }
}
