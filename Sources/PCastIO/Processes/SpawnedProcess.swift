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
