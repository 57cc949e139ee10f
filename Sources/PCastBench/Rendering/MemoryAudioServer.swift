import Foundation
import PCastCore
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

/// Measures the synchronization of audio and video of `pcast play` in a window. It captures from a virtual X server and
/// from an audio server with a null sink.
enum SkewMeasurement {
    /// Plays a film with one flash and one tone in each second. Returns the delay of each flash relative to its tone in
    /// milliseconds; nil for a flash without a tone. Throws `BenchFailure` if a program is missing.
    static func run(seconds: Int) async throws -> [Double?] {
        let film = "/dev/shm/pcast-bench-clapper-\(getpid()).mp4"
        defer { unlink(film) }
        try make(film, seconds: seconds)
        let display = try MemoryDisplay(size: "1280x720")
        defer { display.end() }
        let server = try MemoryAudioServer()
        defer { server.end() }
        let recorder = try ClapperCapture(display: display.name, audioServer: server.address)
        defer { recorder.stop() }
        await recorder.awaitHearing()
        let player = try PCastProcess(
            ["play", film, "--render", "window"],
            environment: [
                "DISPLAY": display.name, "PULSE_SERVER": server.address, "XDG_RUNTIME_DIR": "/tmp",
                "SDL_VIDEODRIVER": "x11",
            ])
        _ = try await player.next("ended", within: .seconds(seconds + 20))
        return recorder.skews.map { skew in skew.map { $0.seconds * 1_000 } }
    }

    private static func make(_ path: String, seconds: Int) throws {
        let flash = "drawbox=x=0:y=0:w=iw:h=ih:color=white:t=fill:enable='lt(mod(t-0.5+1\\,1)\\,0.1)'"
        let beep =
            "aevalsrc='if(lt(mod(t-0.5+1\\,1)\\,0.1)\\,0.5*sin(2*PI*1000*mod(t-0.5+1\\,1))\\,0)':s=48000:d=\(seconds)"
        _ = try ChildCost.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                "color=c=black:s=1280x720:r=60:d=\(seconds),\(flash)", "-f", "lavfi", "-i", beep, "-c:v", "libx264",
                "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", path,
            ])
    }
}

/// An X server with a virtual screen (Xvfb) on an unused display number; it ends with the object.
final class MemoryDisplay {
    /// The name of the display, `:N`.
    let name: String
    private let process: SpawnedProcess

    /// Starts Xvfb with a screen of the given size. Throws `BenchFailure` if Xvfb is not installed or does not start.
    init(size: String) throws {
        let path = "/usr/bin/Xvfb"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchFailure("Xvfb is not installed: run apt-get install xvfb")
        }
        let (process, output) = try Self.start(path, size: size)
        self.process = process
        var text = ""
        var byte: UInt8 = 0
        while !text.hasSuffix("\n"), read(output.number, &byte, 1) == 1 {
            text.append(Character(Unicode.Scalar(byte)))
        }
        guard text.hasSuffix("\n") else { throw BenchFailure("Xvfb did not start") }
        name = ":" + text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the server and the read end of its output. Only the server holds the write end, so that reading ends
    /// when the server does.
    private static func start(_ path: String, size: String) throws -> (SpawnedProcess, Descriptor) {
        let (null, output) = (try Descriptor.null(), try ProcessPipe())
        let process = try SpawnedProcess(
            path, ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "\(size)x24"],
            environment: ["PATH": "/usr/bin:/bin"], isApart: true, input: null, output: output.write, messages: null)
        return (process, output.read)
    }

    deinit { end() }

    /// The CPU time of the server in seconds; nil if it is not available.
    var processor: Double? {
        guard let number = process.processID else { return nil }
        let text = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)
        // The second field of /proc/PID/stat is in parentheses and may contain spaces (proc_pid_stat(5)).
        guard let fields = text?.split(separator: ")").last?.split(separator: " "), fields.count > 12,
            let user = Double(fields[11]), let system = Double(fields[12])
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    func end() {
        guard process.processID != nil else { return }
        process.send(SIGTERM)
        _ = process.wait()
    }
}
