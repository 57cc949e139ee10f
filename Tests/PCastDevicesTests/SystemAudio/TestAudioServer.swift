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
