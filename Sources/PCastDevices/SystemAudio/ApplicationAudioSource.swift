package import PCastCore
import PCastIO
import Synchronization

/// The audio that one program plays, in frames of 20 ms including silence: the streams of the program at a
/// PulseAudio-compatible server, without the audio of other programs.
///
/// A program may play several streams, which are added, and it may begin and end to play while it is captured. The audio is
/// silent in between. An audio server that disappears is `.vanished`.
package final class ApplicationAudioSource: AudioSource {
    private enum Phase {
        case open
        case running(WorkerThread)
        case over
    }

    /// The number of channels, 1 or 2.
    package let channels: Int
    private let capture: ApplicationAudioCapture
    private let phase = Mutex(Phase.open)

    /// Connects to the audio server. It captures nothing before `start`. The program need not play yet.
    ///
    /// - Parameters:
    ///   - name: The name of the program, as in `ApplicationAudio.enumerate`, or that of its executable file.
    ///   - channels: The number of channels, 1 or 2, to which the server mixes.
    ///   - server: The address as in `PULSE_SERVER`; nil for the one that libpulse finds.
    /// - Throws: `DeviceError`: `.notFound` without the server, `.forbidden`, or `.faulty` if the server does not answer.
    package init(name: String, channels: Int = 2, server: String? = nil) throws(DeviceError) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        capture = ApplicationAudioCapture(server: try PulseServer(address: server), name: name, channels: channels)
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
                    try WorkerThread(name: "program-audio") { [capture] in
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

/// The programs that play audio, as sources.
package enum ApplicationAudio {
    /// The prefix of the identifiers.
    static let prefix = "application:"

    /// Returns every program that plays, or has a paused stream; empty without an audio server. The address is that of
    /// `PULSE_SERVER`; nil for the one that libpulse finds.
    package static func enumerate(server: String? = nil) -> [SourceDevice] {
        guard let server = try? PulseServer(address: server) else { return [] }
        var found: [SourceDevice] = []
        for name in PulseSinkInput.all(of: server).compactMap(\.names.first) {
            let device = device(name)
            if !found.contains(where: { $0.info.id.lowercased() == device.info.id.lowercased() }) {
                found.append(device)
            }
        }
        return found
    }

    /// Returns the device of a program that plays, by its name or that of its executable file. Throws
    /// `DeviceError.notFound`.
    static func find(_ name: String, server address: String? = nil) throws(DeviceError) -> SourceDevice {
        let server = try PulseServer(address: address)
        guard PulseSinkInput.all(of: server).contains(where: { $0.belongs(to: name) }) else {
            throw .notFound("\(prefix)\(name)", lookedIn: "the programs that play audio")
        }
        return device(name)
    }

    /// Returns the name of the program that an identifier names; nil if it is another device.
    static func name(inID id: String) -> String? { id.hasPrefix(prefix) ? String(id.dropFirst(prefix.count)) : nil }

    /// Returns the device of a program.
    static func device(_ name: String) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(
                id: prefix + name, name: "Audio of the program \(name)", mediaType: .audio, deviceType: .systemOutput),
            identity: DeviceIdentity(name: name),
            capabilities: .audio(AudioCapabilities(sampleRates: [AudioFrame.sampleRate], channels: 1...2)))
    }
}

/// The loop of the thread that captures a program's audio, and its state.
///
/// It is `@unchecked Sendable` because only its thread uses it, except for `isStopped`.
final class ApplicationAudioCapture: @unchecked Sendable {
    /// A recording of one stream of the program.
    private final class Voice {
        let recording: PulseRecording
        var timeline: CaptureTimeline
        var hasTime = false

        init(_ recording: PulseRecording, channels: Int) {
            self.recording = recording
            timeline = CaptureTimeline(rate: AudioFrame.sampleRate, channels: channels)
        }
    }

    /// The interval at which it checks whether it was stopped, and whether silence is due.
    private static let interval = TimeSpan.milliseconds(10)

    /// The most samples that wait for the server's first timing.
    private static let timeout = Int64(AudioFrame.sampleRate)

    /// The interval at which recordings that the server has ended are replaced.
    private static let checkInterval = TimeSpan.milliseconds(500)

    /// The most streams of a program that are captured.
    private static let maximumVoices = 32

    private let server: PulseServer
    private let name: String
    private let channels: Int
    private var voices: [PulseSinkInput: Voice] = [:]
    private var lastCheck = MonotonicClock.now()
    private let stopped = Atomic(false)

    init(server: PulseServer, name: String, channels: Int) {
        self.server = server
        self.name = name
        self.channels = channels
    }

    /// Ends `run` within its interval. It can be called from any thread.
    func stop() { stopped.store(true, ordering: .releasing) }

    private var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Captures until it is stopped (nil) or the source ends.
    func run(deliver: @Sendable (AudioFrame) -> Void) -> SourceEnd? {
        let monitor = SinkInputMonitor(of: server)
        var mix = ApplicationAudioMix(channels: channels, start: MonotonicClock.now())
        while !isStopped {
            guard server.iterate(within: Self.interval) else {
                return isStopped ? nil : .vanished("the connection to the audio server was lost (\(server.reason))")
            }
            if let inputs = inputs(monitor) { follow(inputs, &mix) }
            for (input, voice) in voices { take(from: voice, of: input, into: &mix) }
            while !isStopped, let frame = mix.next(at: MonotonicClock.now()) { deliver(finished(frame)) }
        }
        return nil
    }

    /// Returns the streams at the server if they may have changed; nil otherwise. The server ends a recording when the
    /// stream moves to another sink. Then another one is started, but not repeatedly if the server refuses that.
    private func inputs(_ monitor: SinkInputMonitor) -> [PulseSinkInput]? {
        if let inputs = monitor.changed() { return inputs }
        let now = MonotonicClock.now()
        guard now - lastCheck > Self.checkInterval, voices.values.contains(where: { $0.recording.isOver }) else {
            return nil
        }
        lastCheck = now
        return PulseSinkInput.all(of: server)
    }

    /// Records the streams of the program, and no others.
    private func follow(_ inputs: [PulseSinkInput], _ mix: inout ApplicationAudioMix) {
        let own = inputs.filter { $0.belongs(to: name) }
        for (input, voice) in voices where !own.contains(input) || voice.recording.isOver {
            voices[input] = nil
            mix.remove(input.index)
        }
        for input in own where voices[input] == nil && voices.count < Self.maximumVoices {
            // A stream that has ended since is refused.
            let recording = try? PulseRecording(nil, input: input, isBound: true, channels: channels, of: server)
            if let recording { voices[input] = Voice(recording, channels: channels) }
        }
    }

    private func take(from voice: Voice, of input: PulseSinkInput, into mix: inout ApplicationAudioMix) {
        var samples: [Float] = []
        voice.recording.read { samples.append(contentsOf: $0) }
        if !samples.isEmpty {
            voice.timeline.append(samples)
            if let timing = voice.recording.timing() {
                voice.hasTime = true
                _ = voice.timeline.observe(position: timing.position, at: timing.instant)
            } else if !voice.hasTime, voice.recording.position > Self.timeout {
                // If the server never reports timing, the current time is used.
                _ = voice.timeline.observe(position: voice.recording.position, at: MonotonicClock.now())
            }
        }
        while let frame = voice.timeline.next() {
            mix.add(frame.samples, from: frame.start, of: input.index, at: MonotonicClock.now())
        }
    }

    private func finished(_ frame: ApplicationAudioMix.Frame) -> AudioFrame {
        AudioFrame(
            samples: frame.samples, channels: channels,
            captureTime: MonotonicClock.reference().wallTime(at: frame.start),
            timestamp: MediaTime(ticks: frame.ticks, rate: .opus))
    }
}
