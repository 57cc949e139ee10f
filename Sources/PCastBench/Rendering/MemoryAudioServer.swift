import Foundation
import PCastIO

/// A PulseAudio server with a null sink and with a directory and configuration of its own; it ends with the object.
final class MemoryAudioServer {
    /// The address for clients, in the format of `PULSE_SERVER`.
    let address: String
    private let folder: String
    private let process: SpawnedProcess

    /// Starts PulseAudio. Throws `BenchFailure` if PulseAudio is not installed or does not start.
    init() throws {
        let path = "/usr/bin/pulseaudio"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchFailure("PulseAudio is not installed: run apt-get install pulseaudio")
        }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let socket = "\(folder)/native"
        address = "unix:\(socket)"
        let null = try Descriptor.null()
        process = try SpawnedProcess(
            path,
            [
                "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--disallow-exit=yes",
                "--log-level=error", "-L", "module-null-sink sink_name=speakers", "-L",
                "module-native-protocol-unix auth-anonymous=1 socket=\(socket)",
            ],
            environment: [
                "HOME": folder, "XDG_RUNTIME_DIR": folder, "PULSE_RUNTIME_PATH": "\(folder)/run",
                "PATH": "/usr/bin:/bin",
            ], isApart: true, input: null, output: null, messages: null)
        let deadline = Date(timeIntervalSinceNow: 10)
        while !FileManager.default.fileExists(atPath: socket) {
            guard Date() < deadline else {
                end()
                throw BenchFailure("PulseAudio did not start")
            }
            usleep(10_000)
        }
    }

    deinit { end() }

    func end() {
        guard process.processID != nil else { return }
        process.send(SIGTERM)
        _ = process.wait()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
