import Foundation
import Synchronization

/// A program of the machine that runs in parallel with a test. Both exchange lines.
final class MachineProgram: Sendable {
    private struct State {
        var input: Int32
        var output: Int32
        /// The exit status; nil before it was waited for.
        var status: Int32?
    }

    private let processID: pid_t
    private let state: Mutex<State>

    /// Starts a program. If `isQuiet` is true, its error output is added to its lines rather than to the machine's
    /// console.
    init(_ program: String, _ arguments: [String] = [], isQuiet: Bool = false) throws {
        var input: [Int32] = [-1, -1]
        var output: [Int32] = [-1, -1]
        guard pipe(&input) == 0, pipe(&output) == 0 else { throw Machine.Failure(description: "no pipe") }
        // Otherwise the next program would keep this one's input open.
        for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO)
        if isQuiet { posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO) }
        // Threads of a pool block signals, and a program inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let words = ([program] + arguments).map { strdup($0) }
        defer { words.forEach { free($0) } }
        var processID: pid_t = 0
        let error = posix_spawnp(&processID, program, &actions, &attributes, words + [nil], environ)
        close(input[0])
        close(output[1])
        guard error == 0 else {
            close(input[1])
            close(output[0])
            throw Machine.Failure(description: "\(program) could not be started: \(String(cString: strerror(error)))")
        }
        self.processID = processID
        state = Mutex(State(input: input[1], output: output[0]))
    }

    deinit {
        end()
        close(state.withLock { $0.output })
    }

    /// Writes a line to its standard input.
    func notify(_ line: String) throws {
        let bytes = Array("\(line)\n".utf8)
        guard write(state.withLock { $0.input }, bytes, bytes.count) == bytes.count else {
            throw Machine.Failure(description: "it takes no more lines")
        }
    }

    /// Returns the next line of its output; nil after the last one.
    func nextLine() -> String? {
        let output = state.withLock { $0.output }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(output, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// Waits until it ends by itself. Returns its exit status in the form of a shell.
    @discardableResult
    func wait() -> Int32 {
        state.withLock { state in
            if let status = state.status { return status }
            close(state.input)
            state.input = -1
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0, errno == EINTR {}
            // This replaces the macros of wait.h, which Swift does not import.
            let received = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
            state.status = received
            return received
        }
    }

    /// Terminates it, and waits for its end.
    func end() {
        if state.withLock({ $0.status == nil }) { kill(processID, SIGTERM) }
        wait()
    }
}
