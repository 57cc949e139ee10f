import Foundation
import PCastCore
import PCastDevices
import PCastIO
import Synchronization

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

/// Captures the screen of an X server and the output of an audio server. Records when the screen becomes white and when
/// a tone of 1 kHz begins.
final class ClapperCapture: Sendable {
    private struct State {
        var flashes: [WallTime] = []
        var tones: [WallTime] = []
        var isWhite = false
        var detector = ClapperDetector()
    }

    /// The rate of screen captures; a flash is detected half a capture interval late on average.
    private static let frameRate = FrameRate(120)
    private static let meanLateness = TimeSpan.microseconds(1_000_000 / 240)

    /// The maximum distance between a flash and its tone; there is one flash a second.
    private static let maximumSkew = TimeSpan.milliseconds(500)

    private let capturedAudio: AsyncStream<Void>
    private let audioArrived: AsyncStream<Void>.Continuation
    private let screen: ScreenSource
    private let audioSource: SystemAudioSource
    private let state = Mutex(State())

    /// Starts to capture. Throws `DeviceError` if the display or the audio server is not available.
    init(display: String, audioServer: String) throws(DeviceError) {
        (capturedAudio, audioArrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        screen = try ScreenSource(
            ScreenSpecification(display: display), frameRate: Self.frameRate, showsPointer: false)
        audioSource = try SystemAudioSource(channels: 1, server: audioServer)
        try screen.start { [weak self] in
            self?.detectFlash($0)
        } ended: { _ in
        }
        try audioSource.start { [weak self] in
            self?.detectTone($0)
        } ended: { _ in
        }
    }

    func stop() {
        screen.stop()
        audioSource.stop()
    }

    /// Waits for the first captured audio, even if it is silent, because a server needs time to start a recording.
    func waitForAudio() async {
        for await _ in capturedAudio { return }
    }

    /// The delay of each flash relative to its tone, negative for a tone that is late; nil for a flash without a tone.
    var skews: [TimeSpan?] {
        let (flashes, tones) = state.withLock { ($0.flashes, $0.tones) }
        return flashes.map { flash in
            let skew = tones.map { flash - $0 - Self.meanLateness }.min { $0.magnitude < $1.magnitude }
            return skew.flatMap { $0.magnitude < Self.maximumSkew ? $0 : nil }
        }
    }

    private func detectFlash(_ sample: VideoSample) {
        guard case .frame(let frame) = sample, let time = frame.captureTime else { return }
        let size = frame.dimensions
        let isWhite = frame.planeY[size.height / 2 * frame.strideY + size.width / 2] > 128
        state.withLock { state in
            if isWhite, !state.isWhite { state.flashes.append(time) }
            state.isWhite = isWhite
        }
    }

    private func detectTone(_ frame: AudioFrame) {
        guard let time = frame.captureTime else { return }
        audioArrived.yield()
        state.withLock { state in
            if let onset = state.detector.listen(to: frame) { state.tones.append(time + onset) }
        }
    }
}
