import Foundation
import PCastCore
import PCastIO
import Testing

@testable import PCastDevices

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

    /// Plays a tone of half the full scale until the player is ended.
    func play(_ frequency: Double, to sink: String) throws -> TestTonePlayer {
        let input = TestPipe()
        let program = try TestProgram(
            "/usr/bin/pacat",
            [
                "--server=\(address)", "--playback", "--device=\(sink)", "--rate=48000", "--channels=2",
                "--format=s16le",
            ], environment: Self.environment(folder), input: input.readEnd)
        close(input.readEnd)
        return TestTonePlayer(frequency: frequency, program: program, input: input.writeEnd)
    }
}

@Suite("The search for a audio server")
struct PulseServerProbeTests {
    private static func mayHave(
        _ environment: [String: String] = [:], files: Set<String> = [], texts: [String: String] = [:]
    ) -> Bool {
        PulseServerProbe.mayHaveServer(
            environment: { environment[$0] }, exists: { files.contains($0) }, text: { texts[$0] })
    }

    @Test("every place that libpulse uses is searched")
    func places() {
        #expect(Self.mayHave(["PULSE_SERVER": "host"]))
        #expect(Self.mayHave(["PULSE_RUNTIME_PATH": "/p"], files: ["/p/native"]))
        #expect(Self.mayHave(["XDG_RUNTIME_DIR": "/run/user/1"], files: ["/run/user/1/pulse/native"]))
        #expect(Self.mayHave(files: ["/var/run/pulse/native"]))
        #expect(
            Self.mayHave(
                ["HOME": "/h"], files: ["/h/.config/pulse/abc-runtime/native"], texts: ["/etc/machine-id": "abc"]))
        #expect(Self.mayHave(texts: ["/etc/pulse/client.conf": "; a comment\n default-server = host\n"]))
        #expect(Self.mayHave(["HOME": "/h"], texts: ["/h/.config/pulse/client.conf": "default-server=unix:/x"]))
    }

    @Test("other places have none")
    func none() {
        #expect(!Self.mayHave())
        #expect(!Self.mayHave(["PULSE_SERVER": "", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/h"]))
        #expect(
            !Self.mayHave(texts: ["/etc/pulse/client.conf": "; default-server = host\ndefault-server =\nautospawn = no"]
            ))
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
