import PCastIO
public import PCastMedia
import Synchronization

/// The sound that this machine plays, in frames of 20 ms, silence included: the monitor of a PulseAudio server's output, or
/// of PipeWire's that speaks like one.
///
/// The default output is followed when it becomes another, as when someone plugs in headphones. A frame's capture time is
/// when its first sample is heard, which may lie a little ahead. An output or a server that goes away is `.vanished`.
public final class SystemSoundSource: AudioSource {
    private enum Phase {
        case open
        case running(WorkerThread)
        case over
    }

    /// 1 or 2.
    public let channels: Int
    private let capture: SystemSoundCapture
    private let phase = Mutex(Phase.open)

    /// Connects to the sound server; nothing is captured before `start`.
    ///
    /// - Parameters:
    ///   - id: of `SystemSounds.enumerate`, or a name that `pactl list short sources` shows; nil for what the default
    ///     output plays.
    ///   - channels: 1 or 2; the server mixes to that.
    ///   - server: its address, as in `PULSE_SERVER`; nil for the one that libpulse finds.
    /// - Throws: `.notFound` when there is no server, or no such output; `.forbidden` when it refuses; `.faulty` when it
    ///   does not answer.
    public init(id: String? = nil, channels: Int = 2, server: String? = nil) throws(DeviceError) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        let connection = try PulseServer(address: server)
        let wanted = id.map { $0.hasPrefix(SystemSounds.prefix) ? String($0.dropFirst(SystemSounds.prefix.count)) : $0 }
        let followsDefault = wanted == nil || SystemSounds.prefix + wanted! == SystemSounds.standardID
        let sink =
            followsDefault
            ? PulseSink.standard(of: connection) : PulseSink.all(of: connection).first { $0.monitor == wanted }
        guard let sink else {
            throw .notFound(
                wanted.map { "system sound \($0)" } ?? "system sound", lookedIn: "the sound server's outputs")
        }
        capture = SystemSoundCapture(
            server: connection, source: sink.monitor, followsDefault: followsDefault, channels: channels)
    }

    deinit { stop() }

    public func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        try phase.withLock { phase throws(DeviceError) in
            guard case .open = phase else { return }
            do throws(IOError) {
                phase = .running(
                    try WorkerThread(name: "system-sound") { [capture] in
                        if let end = capture.run(deliver: deliver) { ended(end) }
                    })
            } catch {
                throw .noThread("\(error)")
            }
        }
    }

    public func stop() {
        let before = phase.withLock { phase in
            defer { phase = .over }
            return phase
        }
        capture.stop()
        if case .running(let worker) = before { worker.join() }
    }
}
