package import PCastCore
import PCastIO
import Synchronization

/// Audio of a PipeWire server in frames of 20 ms, including silence: what an output or one program plays, or a microphone.
///
/// The capture time of a frame is the time at which its first sample is played or recorded. A program may play several
/// streams, which are added, and it may begin and end to play while it is captured. The default output is followed when it
/// changes. An output, a microphone or a server that disappears is `.vanished`.
package final class PipeWireAudioSource: AudioSource {
    /// The captured audio.
    package enum Target: Hashable, Sendable {
        /// An output by the name of its node; nil for the default one.
        case output(name: String?)
        /// A microphone by the name of its node.
        case microphone(name: String)
        /// A program by its name or that of its executable file. It need not play yet.
        case program(name: String)
    }

    private enum Phase {
        case open
        case running(WorkerThread)
        case over
    }

    /// The number of channels, 1 or 2.
    package let channels: Int
    private let capture: PipeWireAudioCapture
    private let phase = Mutex(Phase.open)

    /// Connects to the server. It captures nothing before `start`.
    ///
    /// - Parameters:
    ///   - target: The captured audio.
    ///   - channels: The number of channels, 1 or 2, to which the server mixes.
    /// - Throws: `DeviceError`: `.notFound` without the server, the output or the microphone, or `.faulty` if the server does
    ///   not answer.
    package init(_ target: Target, channels: Int = 2) throws(DeviceError) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        capture = try PipeWireAudioCapture(target, channels: channels)
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
                    try WorkerThread(name: "pipewire-audio") { [capture] in
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

/// The loop of the thread that captures audio of a PipeWire server, and its state.
///
/// It is `@unchecked Sendable` because only its thread uses it, except for `stopped` and `wake`.
final class PipeWireAudioCapture: @unchecked Sendable {
    /// A stream of a node.
    private final class Voice {
        let stream: PipeWireAudioStream
        var timeline: CaptureTimeline
        /// The number of samples per channel that were read.
        var position: Int64 = 0

        init(_ stream: PipeWireAudioStream, channels: Int) {
            self.stream = stream
            timeline = CaptureTimeline(rate: AudioFrame.sampleRate, channels: channels)
        }
    }

    /// The interval at which it checks for changes of the server, and whether silence is due.
    private static let interval = TimeSpan.milliseconds(10)

    /// The interval at which streams that the server has ended are replaced.
    private static let checkInterval = TimeSpan.milliseconds(500)

    /// The time without audio after which an output or a microphone is over, as without a session manager. Bluetooth
    /// headsets take seconds to start.
    private static let timeout = TimeSpan.seconds(5)

    /// The most streams of a program that are captured.
    private static let mostVoices = 32

    private let target: PipeWireAudioSource.Target
    private let channels: Int
    private let registry: PipeWireRegistry
    private let connection: PipeWireConnection
    private let wake: WakeDescriptor
    private var voices: [PipeWireAudioStream.Target: Voice] = [:]
    private var seenChanges: Int?
    private var lastCheck = MonotonicClock.now()
    private var lastAudio = MonotonicClock.now()
    private var samples: [Float] = []
    private let stopped = Atomic(false)

    init(_ target: PipeWireAudioSource.Target, channels: Int) throws(DeviceError) {
        (self.target, self.channels) = (target, channels)
        guard PipeWireServerProbe.mayHaveServer() else {
            throw .notFound(Self.description(of: target), lookedIn: "the PipeWire server")
        }
        registry = try PipeWireRegistry(.audio)
        let state = registry.wait(until: MonotonicClock.now() + PipeWireAudio.timeout) { state in
            state.isComplete || state.end != nil ? state : nil
        }
        guard let state else { throw .faulty("system audio", reason: "the PipeWire server does not respond.") }
        guard state.end == nil, Self.targets(target, in: state) != nil else {
            throw .notFound(Self.description(of: target), lookedIn: "the nodes of PipeWire")
        }
        connection = try PipeWireConnection("system audio")
        do throws(IOError) {
            wake = try WakeDescriptor()
        } catch {
            throw .faulty("system audio", reason: "\(error)")
        }
        guard connection.start() else { throw .faulty("system audio", reason: "its thread could not be started.") }
    }

    private static func description(of target: PipeWireAudioSource.Target) -> String {
        switch target {
        case .output(let name): name.map { "system audio \($0)" } ?? "system audio"
        case .microphone(let name): "microphone:\(PipeWireAudio.prefix)\(name)"
        case .program(let name): "\(ApplicationAudio.prefix)\(name)"
        }
    }

    /// Returns the nodes that are captured; nil if the output or the microphone does not exist.
    static func targets(
        _ target: PipeWireAudioSource.Target, in state: PipeWireRegistry.State
    ) -> [PipeWireAudioStream.Target]? {
        switch target {
        case .output(nil): return PipeWireAudioNodes.all(.output, in: state).isEmpty ? nil : [.standardOutput]
        case .output(let name):
            let node = PipeWireAudioNodes.all(.output, in: state).first { $0.name == name }
            return node.map { [.output($0.id, serial: $0.serial)] }
        case .microphone(let name):
            let node = PipeWireAudioNodes.all(.microphone, in: state).first { $0.name == name }
            return node.map { [.source($0.id, serial: $0.serial)] }
        case .program(let name):
            let nodes = PipeWireAudioNodes.all(.program, in: state).filter { $0.belongs(to: name) }
            return nodes.prefix(mostVoices).map { .source($0.id, serial: $0.serial) }
        }
    }

    /// Ends `run` at once. It can be called from any thread.
    func stop() {
        stopped.store(true, ordering: .releasing)
        wake.signal()
    }

    private var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Captures until it is stopped (nil) or the source ends.
    func run(deliver: @Sendable (AudioFrame) -> Void) -> SourceEnd? {
        defer { voices = [:] }
        lastAudio = MonotonicClock.now()
        var mix: ApplicationAudioMix?
        if case .program = target { mix = ApplicationAudioMix(channels: channels, start: lastAudio) }
        while !isStopped {
            if let end = follow(&mix) { return isStopped ? nil : end }
            for (target, voice) in voices { take(from: voice, of: target, into: &mix, deliver) }
            while !isStopped, let frame = mix?.next(at: MonotonicClock.now()) {
                deliver(finished(frame.samples, frame.start, frame.ticks))
            }
            if mix == nil, MonotonicClock.now() - lastAudio > Self.timeout {
                return .vanished("\(Self.description(of: target)) delivers no audio")
            }
            wake.wait(beside: nil, within: Self.interval)
        }
        return nil
    }

    /// Captures the nodes that exist now, and no others. Returns the end of the source if there is nothing to capture.
    private func follow(_ mix: inout ApplicationAudioMix?) -> SourceEnd? {
        let (changes, end) = registry.progress
        if let end { return .vanished("the connection to the PipeWire server was lost (\(end))") }
        let now = MonotonicClock.now()
        // A stream that the server ends is started again, but not repeatedly if the server refuses that.
        let hasEnded = voices.values.contains { $0.stream.isOver } && now - lastCheck > Self.checkInterval
        guard changes != seenChanges || hasEnded else { return nil }
        (seenChanges, lastCheck) = (changes, now)
        guard let wanted = Self.targets(target, in: registry.current) else {
            return .vanished("\(Self.description(of: target)) no longer exists")
        }
        for (target, voice) in voices where !wanted.contains(target) || voice.stream.isOver {
            // Only a mix continues without the stream. Another one of the same name is a new source.
            guard mix != nil else { return .vanished("the stream of \(Self.description(of: self.target)) has ended") }
            voices[target] = nil
            mix?.remove(Self.number(of: target))
        }
        for target in wanted where voices[target] == nil {
            let isPlayed = if case .microphone = self.target { false } else { true }
            let stream = try? PipeWireAudioStream(
                target, isPlayed: isPlayed, connection, channels: channels, wake: wake)
            if let stream { voices[target] = Voice(stream, channels: channels) }
        }
        return nil
    }

    private static func number(of target: PipeWireAudioStream.Target) -> UInt32 {
        switch target {
        case .standardOutput: UInt32.max
        case .output(let id, _), .source(let id, _): id
        }
    }

    /// Reads the audio of a stream, and delivers it, or adds it to the mix of a program.
    private func take(
        from voice: Voice, of target: PipeWireAudioStream.Target, into mix: inout ApplicationAudioMix?,
        _ deliver: (AudioFrame) -> Void
    ) {
        samples.removeAll(keepingCapacity: true)
        while let block = voice.stream.ring.take(into: &samples) {
            if block.lost > 0 {
                // A restart discards the audio before the gap. The clock of the timeline finds the gap, which becomes
                // silence.
                deliverFrames(of: voice, target, into: &mix, deliver)
                voice.timeline.restart()
                voice.position = 0
            }
            lastAudio = MonotonicClock.now()
            _ = voice.timeline.observe(position: voice.position, at: block.start)
            voice.timeline.append(samples)
            voice.position += Int64(block.count)
            samples.removeAll(keepingCapacity: true)
        }
        deliverFrames(of: voice, target, into: &mix, deliver)
    }

    /// Delivers the complete frames of a stream, or adds them to the mix of a program.
    private func deliverFrames(
        of voice: Voice, _ target: PipeWireAudioStream.Target, into mix: inout ApplicationAudioMix?,
        _ deliver: (AudioFrame) -> Void
    ) {
        while !isStopped, let frame = voice.timeline.next() {
            if mix == nil {
                deliver(finished(frame.samples, frame.start, frame.ticks))
            } else {
                mix?.add(frame.samples, from: frame.start, of: Self.number(of: target), at: MonotonicClock.now())
            }
        }
    }

    private func finished(_ samples: [Int16], _ start: Instant, _ ticks: Int64) -> AudioFrame {
        AudioFrame(
            samples: samples, channels: channels, captureTime: MonotonicClock.reference().wallTime(at: start),
            timestamp: MediaTime(ticks: ticks, rate: .opus))
    }
}
