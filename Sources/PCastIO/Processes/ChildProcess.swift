import CLinux
import Glibc
import Synchronization

/// A program that was started by this one, and does not outlive it: its standard input is a pipe, which breaks when this
/// process ends in whatever way, and which the program watches.
///
/// What it writes, to either output, comes line by line. It inherits no other descriptor, no blocked or ignored signal,
/// and of the environment what it is given.
public final class ChildProcess: Sendable {
    /// How a process ended.
    public enum End: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    private struct State {
        /// Nil once it was waited for: the number may be another's then.
        var process: pid_t?
        var input: Descriptor?
        /// Let go of itself when the process has ended.
        var thread: WorkerThread?
    }

    private let state: Mutex<State>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - input: is written to its standard input at the beginning: 4 KiB at most, which a pipe takes at once.
    ///   - line: gets each line that it writes, on a thread of its own; what is longer than 4 KiB comes in pieces.
    ///   - ended: is called once, after the last line.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String], input: String,
        line: @escaping @Sendable (String) -> Void, ended: @escaping @Sendable (End) -> Void
    ) throws(IOError) {
        let (inputRead, inputWrite) = try Self.pipe()
        let (outputRead, outputWrite) = try Self.pipe()
        let process = try Self.spawn(
            program, [program] + arguments, environment.map { "\($0.key)=\($0.value)" }, input: inputRead.number,
            output: outputWrite.number)
        state = Mutex(State(process: process, input: inputWrite))
        Self.write(input, to: inputWrite.number)
        let thread: WorkerThread
        do {
            thread = try WorkerThread(name: "child") { [self] in
                Self.read(outputRead.number, line)
                ended(wait(process))
            }
        } catch {
            Glibc.kill(process, SIGKILL)
            waitpid(process, nil, 0)
            throw error
        }
        state.withLock { if $0.process != nil { $0.thread = thread } }
        // Ours of what is the child's: its output ends when it does.
        withExtendedLifetime((inputRead, outputWrite)) {}
    }

    /// Its number; nil when it has ended.
    public var processID: Int32? { state.withLock { $0.process } }

    /// Breaks its standard input, which tells it to end.
    public func end() { state.withLock { $0.input = nil } }

    /// Ends it without asking.
    public func kill() {
        state.withLock { state in
            state.input = nil
            if let process = state.process { Glibc.kill(process, SIGKILL) }
        }
    }

    private func wait(_ process: pid_t) -> End {
        var status: Int32 = 0
        // Its number stays its own until it is waited for, which is under the lock that `kill` takes.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, Errno.current == EINTR {}
        state.withLock { state in
            while waitpid(process, &status, 0) < 0, Errno.current == EINTR {}
            state.process = nil
            state.input = nil
            state.thread = nil
        }
        return status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
    }

    // MARK: Starting

    private static func pipe() throws(IOError) -> (read: Descriptor, write: Descriptor) {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutableBytes(of: &ends) {
            clinux_pipe2($0.assumingMemoryBound(to: Int32.self).baseAddress!, Int32(CLINUX_O_CLOEXEC))
        }
        guard answer == 0 else { throw .system(call: "pipe2", errno: Errno.current) }
        return (try Descriptor(ends.0, from: "pipe2"), try Descriptor(ends.1, from: "pipe2"))
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String], input: Int32, output: Int32
    ) throws(IOError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Not onto themselves: one of 0 to 2 may be closed in this process, and a pipe have its number.
        let (from, to) = (fcntl(input, F_DUPFD_CLOEXEC, 10), fcntl(output, F_DUPFD_CLOEXEC, 10))
        defer {
            close(from)
            close(to)
        }
        posix_spawn_file_actions_adddup2(&actions, from, 0)
        posix_spawn_file_actions_adddup2(&actions, to, 1)
        posix_spawn_file_actions_adddup2(&actions, to, 2)
        _ = clinux_spawn_close_from(&actions, 3)
        var arguments = arguments.map { strdup($0) } + [nil]
        var environment = environment.map { strdup($0) } + [nil]
        defer {
            for text in arguments + environment { free(text) }
        }
        var process: pid_t = 0
        let error = clinux_spawn(&process, path, &actions, &arguments, &environment)
        guard error == 0 else { throw .system(call: "posix_spawn", errno: error) }
        return process
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
