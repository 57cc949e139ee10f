import CLinux
import Glibc
import Synchronization

/// A program that was started by this one: with the descriptors that it is given and no other, and no signal blocked or
/// ignored, whatever the thread blocks that starts it.
public final class SpawnedProcess: Sendable {
    /// How a process ended.
    public enum End: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// Nil once it was waited for: the number may be another's then.
    private let number: Mutex<pid_t?>

    /// Starts a program, in the folder of this process or another.
    ///
    /// - Parameters:
    ///   - isApart: in a group of its own, so that Ctrl-C in a terminal is its parent's affair.
    ///   - further: become its descriptors 3, 4 and so on.
    /// - Throws: `IOError.system` when there is no such program or folder, or no process to be had.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String], folder: String? = nil, isApart: Bool,
        input: Descriptor, output: Descriptor, messages: Descriptor, further: [Descriptor] = []
    ) throws(IOError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Not onto themselves: one of the first may be closed in this process, and a pipe have its number.
        let given = [input, output, messages] + further
        precondition(given.count <= 10, "a program is given ten descriptors at most")
        let copies = given.map { fcntl($0.number, F_DUPFD_CLOEXEC, 10) }
        let error = copies.contains { $0 < 0 } ? Errno.current : 0
        defer {
            for copy in copies where copy >= 0 { close(copy) }
        }
        // Else it would have this process's own in that place.
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

    /// Its number; nil when it has ended and was waited for.
    public var processID: Int32? { number.withLock { $0 } }

    /// Sends it a signal, where it still is.
    public func send(_ signal: Int32) {
        number.withLock { process in
            if let process { Glibc.kill(process, signal) }
        }
    }

    /// Blocks until it has ended. Called once.
    public func wait() -> End {
        guard let process = processID else { preconditionFailure("a process is waited for once") }
        var status: Int32 = 0
        // Its number stays its own until it is waited for, which is under the lock that `send` takes.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, Errno.current == EINTR {}
        number.withLock { number in
            while waitpid(process, &status, 0) < 0, Errno.current == EINTR {}
            number = nil
        }
        return status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
    }
}
