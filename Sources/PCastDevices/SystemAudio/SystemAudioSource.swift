package import PCastCore
import PCastIO
import Synchronization

/// The audio that this machine plays, in frames of 20 ms including silence: the monitor of an output of a
/// PulseAudio-compatible server.
///
/// When the default output changes (e.g., to headphones), the source follows it. The capture time of a frame is the
/// time at which its first sample is played, which may be slightly in the future. An output or a server that disappears
/// is `.vanished`. A microphone that only the server has is captured in the same way.
package final class SystemAudioSource: AudioSource {
    private enum Phase {
        case open
        case running(WorkerThread)
        case over
    }

    /// The number of channels, 1 or 2.
    package let channels: Int
    private let capture: SystemAudioCapture
    private let phase = Mutex(Phase.open)

    /// Connects to the audio server. It captures nothing before `start`.
    ///
    /// - Parameters:
    ///   - id: The identifier from `SystemAudioOutputs.enumerate`, or a name that `pactl list short sources` shows; nil
    ///     for the default output.
    ///   - channels: The number of channels, 1 or 2, to which the server mixes.
    ///   - server: The address as in `PULSE_SERVER`; nil for the one that libpulse finds.
    /// - Throws: `DeviceError`: `.notFound` without the server or the output, `.forbidden`, or `.faulty` if the server
    ///   does not answer.
    package init(id: String? = nil, channels: Int = 2, server: String? = nil) throws(DeviceError) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        let connection = try PulseServer(address: server)
        let wanted = id.map {
            $0.hasPrefix(SystemAudioOutputs.prefix) ? String($0.dropFirst(SystemAudioOutputs.prefix.count)) : $0
        }
        let followsDefault = wanted == nil || SystemAudioOutputs.prefix + wanted! == SystemAudioOutputs.standardID
        let sink =
            followsDefault
            ? PulseSink.standard(of: connection) : PulseSink.all(of: connection).first { $0.monitor == wanted }
        guard let sink else {
            throw .notFound(
                wanted.map { "system audio \($0)" } ?? "system audio", lookedIn: "the audio server's outputs")
        }
        capture = SystemAudioCapture(
            server: connection, source: sink.monitor, followsDefault: followsDefault, channels: channels)
    }

    /// Connects to the audio server, to capture a microphone of it. It captures nothing before `start`.
    ///
    /// - Parameters:
    ///   - microphone: The server's name of the microphone.
    ///   - channels: The number of channels, 1 or 2, to which the server mixes.
    ///   - server: The address as in `PULSE_SERVER`; nil for the one that libpulse finds.
    /// - Throws: `DeviceError`: `.notFound` without the server or the microphone, `.forbidden`, or `.faulty` if the server
    ///   does not answer.
    package init(microphone: String, channels: Int = 2, server: String? = nil) throws(DeviceError) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        let connection = try PulseServer(address: server)
        guard PulseMicrophone.all(of: connection).contains(where: { $0.name == microphone }) else {
            throw .notFound(
                "microphone:\(SystemAudioOutputs.prefix)\(microphone)", lookedIn: "the audio server's sources")
        }
        capture = SystemAudioCapture(server: connection, source: microphone, followsDefault: false, channels: channels)
    }

    deinit { stop() }

    /// Starts capturing. `deliver` receives audio and `ended` the end of the source. Throws `DeviceError.noThread`. It
    /// has no effect after the first call.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        try phase.withLock { phase throws(DeviceError) in
            guard case .open = phase else { return }
            do throws(IOError) {
                phase = .running(
                    try WorkerThread(name: "system-audio") { [capture] in
                        if let end = capture.run(deliver: deliver) { ended(end) }
                    })
            } catch {
                throw .noThread("\(error)")
            }
        }
    }

    /// Stops capturing.
    package func stop() {
        let before = phase.withLock { phase in
            defer { phase = .over }
            return phase
        }
        capture.stop()
        if case .running(let worker) = before { worker.join() }
    }
}

/// The audio that this machine plays, as sources: the monitors of a PulseAudio-compatible server.
///
/// Without such a server, ALSA's loopback card (`modprobe snd-aloop`) can be used: programs play to `hw:Loopback,0`,
/// and the microphone `hw:Loopback,1` captures that.
package enum SystemAudioOutputs {
    /// The prefix of the identifiers.
    static let prefix = "pulse:"

    /// The identifier of the default output, with libpulse's own name for it.
    package static let standardID = prefix + "@DEFAULT_MONITOR@"

    /// Returns the default output, then every output; empty without a audio server. It does not start a server, and
    /// takes some milliseconds. The address is that of `PULSE_SERVER`; nil for the one that libpulse finds.
    package static func enumerate(server: String? = nil) -> [SourceDevice] {
        guard let server = try? PulseServer(address: server) else { return [] }
        let sinks = PulseSink.all(of: server)
        let standard = PulseSink.standard(of: server).map {
            device(id: standardID, name: "Audio output of this host (\($0.description))", $0)
        }
        return [standard].compactMap(\.self)
            + sinks.map { device(id: prefix + $0.monitor, name: "Audio of \($0.description)", $0) }
    }

    private static func device(id: String, name: String, _ sink: PulseSink) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: .audio, deviceType: .systemOutput),
            identity: DeviceIdentity(name: sink.description),
            capabilities: .audio(AudioCapabilities(sampleRates: [sink.sampleRate], channels: 1...2)))
    }
}

/// The loop of a system audio thread and its state.
///
/// It is `@unchecked Sendable` because only its thread uses it, except for `isStopped`.
final class SystemAudioCapture: @unchecked Sendable {
    /// The interval at which it checks whether it was stopped.
    private static let interval = TimeSpan.milliseconds(20)

    /// The most samples that wait for the server's first timing.
    private static let timeout = Int64(AudioFrame.sampleRate)

    private let server: PulseServer
    private let followsDefault: Bool
    private let source: String
    private let channels: Int
    private var timeline: CaptureTimeline
    private var hasTime = false
    private var samples: [Float] = []
    private let stopped = Atomic(false)

    /// Prepares to capture a sink's monitor, or a microphone. With `followsDefault`, it is that of the default sink, and changes with
    /// it.
    init(server: PulseServer, source: String, followsDefault: Bool, channels: Int) {
        self.server = server
        self.source = source
        self.followsDefault = followsDefault
        self.channels = channels
        timeline = CaptureTimeline(rate: AudioFrame.sampleRate, channels: channels)
    }

    /// Ends `run` within its interval. It can be called from any thread.
    func stop() { stopped.store(true, ordering: .releasing) }

    private var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Captures until it is stopped (nil) or the source ends.
    func run(deliver: @Sendable (AudioFrame) -> Void) -> SourceEnd? {
        let recording: PulseRecording
        do throws(DeviceError) {
            recording = try PulseRecording(source, isBound: !followsDefault, channels: channels, of: server)
        } catch {
            return .failed("\(error)")
        }
        let watch = followsDefault ? DefaultSinkMonitor(of: server) : nil
        while !isStopped {
            guard server.iterate(within: Self.interval) else {
                return isStopped ? nil : .vanished("the connection to the audio server was lost (\(server.reason))")
            }
            if let sink = watch?.changed(), sink.monitor != recording.source { recording.move(to: sink.monitor) }
            if recording.isOver { return .vanished("the audio of \(source) no longer exists") }
            take(from: recording)
            while !isStopped, let frame = timeline.next() { deliver(finished(frame)) }
        }
        return nil
    }

    private func take(from recording: PulseRecording) {
        samples.removeAll(keepingCapacity: true)
        recording.read { samples.append(contentsOf: $0) }
        guard !samples.isEmpty else { return }
        timeline.append(samples)
        if let timing = recording.timing() {
            hasTime = true
            _ = timeline.observe(position: timing.position, at: timing.instant)
        } else if !hasTime, recording.position > Self.timeout {
            // If the server never reports timing, the current time is used.
            _ = timeline.observe(position: recording.position, at: MonotonicClock.now())
        }
    }

    private func finished(_ frame: CaptureTimeline.Frame) -> AudioFrame {
        AudioFrame(
            samples: frame.samples, channels: channels,
            captureTime: MonotonicClock.reference().wallTime(at: frame.start),
            timestamp: MediaTime(ticks: frame.ticks, rate: .opus))
    }
}
