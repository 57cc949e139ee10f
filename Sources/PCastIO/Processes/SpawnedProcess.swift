import CLinux
import Glibc
import Synchronization

/// A program that this process started. It inherits only the given descriptors, and no signal is blocked or ignored,
/// whatever the starting thread blocks.
package final class SpawnedProcess: Sendable {
    /// The way in which a process ended.
    package enum End: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// The process identifier; nil after `wait`, because another process may then get the same number.
    private let number: Mutex<pid_t?>

    /// Starts a program, in the current folder if `folder` is nil. If `isApart` is true, it runs in its own process
    /// group, so that Ctrl-C in a terminal only reaches its parent. `further` become the descriptors 3, 4 and so on.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the program or folder does not exist, or no process can be created.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String], folder: String? = nil, isApart: Bool,
        input: Descriptor, output: Descriptor, messages: Descriptor, further: [Descriptor] = []
    ) throws(IOError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The descriptors are duplicated to numbers from 10, because a pipe may have one of the standard numbers if
        // that was closed in this process.
        let given = [input, output, messages] + further
        precondition(given.count <= 10, "a program can inherit at most ten descriptors")
        let copies = given.map { fcntl($0.number, F_DUPFD_CLOEXEC, 10) }
        let error = copies.contains { $0 < 0 } ? Errno.current : 0
        defer {
            for copy in copies where copy >= 0 { close(copy) }
        }
        // Otherwise the program would inherit another descriptor of this process.
        guard error == 0 else { throw .system(call: "fcntl", errno: error) }
        for (number, copy) in copies.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, copy, Int32(number))
        }
        _ = clinux_spawn_close_from(&actions, Int32(given.count))
        if let folder { _ = clinux_spawn_change_folder(&actions, folder) }
        var arguments = ([program] + arguments).map { strdup($0) } + [nil]
        var environment = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for text in arguments + environment { free(text) }
        }
        var process: pid_t = 0
        let failure = clinux_spawn(&process, program, &actions, &arguments, &environment, isApart ? 1 : 0)
        guard failure == 0 else { throw .system(call: "posix_spawn", errno: failure) }
        number = Mutex(process)
    }

    /// The process identifier; nil after `wait`.
    package var processID: Int32? { number.withLock { $0 } }

    /// Sends a signal to the process if it still exists.
    package func send(_ signal: Int32) {
        number.withLock { process in
            if let process { Glibc.kill(process, signal) }
        }
    }

    /// Blocks until the process has ended. It must be called once.
    package func wait() -> End {
        guard let process = processID else { preconditionFailure("a process must be waited for only once") }
        var status: Int32 = 0
        // The process identifier remains valid until `waitpid`, which is called under the lock that `send` uses.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, Errno.current == EINTR {}
        number.withLock { number in
            while waitpid(process, &status, 0) < 0, Errno.current == EINTR {}
            number = nil
        }
        return status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
    }
}

/// The result of a program that has ended, with its output.
///
/// Foundation's `Process` is not used: with 1,360 open descriptors, its search for the highest one read beyond the end
/// of the directory's buffer and crashed.
package struct FinishedProcess: Sendable {
    /// The outputs to record.
    package enum RecordedOutputs: Sendable { case output, messages, both }

    /// The recorded output. Invalid UTF-8 is replaced.
    package let text: String
    /// The way in which the process ended.
    package let end: SpawnedProcess.End

    /// Whether the exit status was 0.
    package var hasSucceeded: Bool { end == .exit(0) }

    /// Runs a program without input and blocks until it has ended. It runs in `folder`, or in the current one if that
    /// is nil.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the program or folder does not exist, or no process can be created.
    package init(
        running program: String, _ arguments: [String], environment: [String: String], folder: String? = nil,
        recording: RecordedOutputs = .output
    ) throws(IOError) {
        let (process, output) = try Self.start(program, arguments, environment, folder, recording)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(output.number, &buffer, buffer.count)
            if count < 0, Errno.current == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        text = String(decoding: bytes, as: UTF8.self)
        end = process.wait()
    }

    /// Starts the program. The write end of the pipe is closed in this process when the function returns. Otherwise the
    /// output would never end.
    private static func start(
        _ program: String, _ arguments: [String], _ environment: [String: String], _ folder: String?,
        _ recording: RecordedOutputs
    ) throws(IOError) -> (SpawnedProcess, Descriptor) {
        let (null, pipe) = (try Descriptor.null(), try ProcessPipe())
        let process = try SpawnedProcess(
            program, arguments, environment: environment, folder: folder, isApart: false, input: null,
            output: recording == .messages ? null : pipe.write, messages: recording == .output ? null : pipe.write)
        return (process, pipe.read)
    }
}
