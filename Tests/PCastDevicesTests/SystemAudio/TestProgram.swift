import Foundation

/// A program that a test runs and ends.
///
/// It does not use Foundation's `Process` for two reasons. `Process` treats a program that closes inherited descriptors
/// as ended, as audio servers do, and then blocks all other waits. Programs also inherit the blocked signals of Swift's
/// threads, so they could not be terminated.
final class TestProgram: Sendable {
    private let id: pid_t

    struct DidNotStart: Error {}

    /// Starts a program. Input and output are descriptors that the program reads and writes; nil for none. Both remain
    /// the caller's.
    init(
        _ path: String, _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
        input: Int32? = nil,
        output: Int32? = nil
    ) throws {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        for (number, descriptor) in [(Int32(0), input), (1, output), (2, nil)] {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&files, descriptor, number)
            } else {
                posix_spawn_file_actions_addopen(&files, number, "/dev/null", O_RDWR, 0)
            }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var id: pid_t = 0
        guard posix_spawn(&id, path, &files, &attributes, words, variables) == 0 else { throw DidNotStart() }
        self.id = id
    }

    deinit { end() }

    /// Whether it still runs.
    var isRunning: Bool {
        var state = siginfo_t()
        return waitid(P_PID, id_t(id), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state._sifields._sigchld.si_pid == 0
    }

    /// Suspends it; `resume()` continues it.
    func freeze() { kill(id, SIGSTOP) }
    func resume() { kill(id, SIGCONT) }

    /// Waits until it ends by itself.
    func waitUntilEnd() { while waitpid(id, nil, 0) < 0, errno == EINTR {} }

    /// Kills it at once. A second call has no effect.
    func end() {
        // After a wait, the number may be another program's.
        guard waitpid(id, nil, WNOHANG) == 0 else { return }
        kill(id, SIGKILL)
        waitUntilEnd()
    }

    /// Terminates it, and waits for its end.
    func terminate() {
        guard waitpid(id, nil, WNOHANG) == 0 else { return }
        resume()
        kill(id, SIGTERM)
        waitUntilEnd()
    }
}

/// A pipe whose ends are not inherited, unless given.
final class TestPipe: Sendable {
    let readEnd: Int32
    let writeEnd: Int32

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    /// Returns the data until a byte that matches, or until the end. The writing end must be closed or belong to
    /// another process.
    func read(until isLast: (UInt8) -> Bool = { _ in false }) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = Glibc.read(readEnd, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { break }
            bytes.append(byte)
            if isLast(byte) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
