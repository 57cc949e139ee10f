import Foundation
import PCastCore
import PCastIO

/// A test's own PulseAudio server with its own folder, outputs without hardware, and default settings.
final class TestAudioServer: Sendable {
    /// The address for clients.
    let address: String
    private let program: TestProgram
    private let folder: String

    static let missing = ["pulseaudio", "pacat", "pactl"].filter {
        !FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }

    /// Starts a server with the given outputs, of which the first is the default.
    init(sinks: [String] = ["speakers"]) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        address = "unix:\(folder)/native"
        program = try TestProgram(
            "/usr/bin/pulseaudio",
            [
                "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--disallow-exit=yes",
                "--log-level=error",
            ] + sinks.flatMap { ["-L", "module-null-sink sink_name=\($0)"] }
                + ["-L", "module-native-protocol-unix auth-anonymous=1 socket=\(folder)/native"],
            environment: Self.environment(folder))
        // Waits until the server answers.
        while try control("info").isEmpty {
            guard program.isRunning else { throw TestProgram.DidNotStart() }
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(10))
        }
        if let first = sinks.first { try control("set-default-sink", first) }
    }

    deinit {
        end()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func environment(_ folder: String) -> [String: String] {
        ["HOME": folder, "XDG_RUNTIME_DIR": folder, "PULSE_RUNTIME_PATH": "\(folder)/run", "PATH": "/usr/bin:/bin"]
    }

    func end() { program.end() }

    func freeze() { program.freeze() }

    /// Runs `pactl` with the words.
    ///
    /// - Returns: The output of `pactl`.
    @discardableResult
    func control(_ words: String...) throws -> String {
        let output = TestPipe()
        let client = try TestProgram(
            "/usr/bin/pactl", ["--server=\(address)"] + words, environment: Self.environment(folder),
            output: output.writeEnd)
        close(output.writeEnd)
        defer { close(output.readEnd) }
        let text = output.read()
        client.waitUntilEnd()
        return text
    }

    /// Plays a tone of half the full scale until the player is ended. `name` is the name of the program.
    func play(_ frequency: Double, to sink: String, as name: String = "player") throws -> TestTonePlayer {
        let input = TestPipe()
        let program = try TestProgram(
            "/usr/bin/pacat",
            [
                "--server=\(address)", "--playback", "--device=\(sink)", "--rate=48000", "--channels=2",
                "--format=s16le", "--client-name=\(name)",
            ], environment: Self.environment(folder), input: input.readEnd)
        close(input.readEnd)
        return TestTonePlayer(frequency: frequency, program: program, input: input.writeEnd)
    }
}

/// A program that plays a tone on a test's audio server, at the rate at which the server consumes it.
final class TestTonePlayer: Sendable {
    private let program: TestProgram

    /// Plays a tone through a program. `input` is written for the program, and closed when it has ended.
    init(frequency: Double, program: TestProgram, input: Int32) {
        self.program = program
        // A second has a whole number of periods, and is played repeatedly.
        let second = (0..<48_000).flatMap { index -> [Int16] in
            let value = Int16(16_384 * sin(2 * .pi * frequency * Double(index) / 48_000))
            return [value, value]
        }
        Thread.detachNewThread {
            // Writing fails when the program has ended. SIGPIPE must not end this process.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            second.withUnsafeBytes { bytes in
                var offset = 0
                while true {
                    let count = write(input, bytes.baseAddress! + offset, bytes.count - offset)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { break }
                    offset = (offset + count) % bytes.count
                }
            }
            close(input)
        }
    }

    /// Ends the player. A second call has no effect.
    func end() { program.end() }
}

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
