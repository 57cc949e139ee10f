import PCastIO
public import PCastMedia
import Synchronization

/// A microphone, or whatever else a PCM device of ALSA captures, at 48 kHz on the machine's own clock.
public final class MicrophoneSource: AudioSource {
    private enum Phase {
        case open(CapturePCM)
        case running(CapturePCM, WorkerThread)
        case over
    }

    private struct State {
        var phase: Phase
        var capture: MicrophoneCapture?
    }

    /// 1 or 2.
    public let channels: Int

    private let address: MicrophoneAddress
    private let mixer: CaptureMixer?
    private let state: Mutex<State>

    /// Opens a microphone; nothing is captured before `start`.
    ///
    /// - Parameters:
    ///   - id: of `SourceDeviceInfo`, or a name of alsa-lib such as `plughw:1,0`; nil for the best there is.
    ///   - configuration: its channels and its polar pattern, where the card can change that; echoes are not this source's.
    /// - Throws: `.notFound`; `.busy` when another program has it; `.forbidden`; `.faulty` when the driver refuses.
    public init(id: String?, configuration: AudioConfiguration) throws(DeviceError) {
        address = try MicrophoneAddress(id: id)
        channels = configuration.channels.channels
        let address = address
        do throws(PCMFailure) {
            let pcm = try CapturePCM(name: address.pcmName, channels: channels)
            mixer = pcm.card.flatMap { CaptureMixer(card: $0) }
            state = Mutex(State(phase: .open(pcm)))
        } catch {
            throw error.error(of: address)
        }
        apply(configuration)
    }

    deinit { stop() }

    public func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        try state.withLock { state throws(DeviceError) in
            guard case .open(let pcm) = state.phase else { return }
            mixer?.switchOn()
            let capture = MicrophoneCapture(pcm: pcm, channels: channels)
            state.capture = capture
            do throws(IOError) {
                let worker = try WorkerThread(name: "microphone") { [mixer] in
                    let end = capture.run(deliver: deliver)
                    // Whoever is told of the end may want to open it again.
                    pcm.close()
                    mixer?.release()
                    if let end { ended(end) }
                }
                state.phase = .running(pcm, worker)
            } catch {
                throw .noThread("\(error)")
            }
        }
    }

    /// Changes what can be changed while it runs: the polar pattern. The channels stay as they were opened.
    ///
    /// - Returns: the capabilities whose wishes could not be granted, each with the reason for people.
    @discardableResult
    public func apply(_ configuration: AudioConfiguration) -> [DeviceCapability: String] {
        let pattern = configuration.polarPattern
        if pattern == .automatic || mixer?.select(pattern) == true { return [:] }
        return [.polarPattern: "the sound card has no control that switches to \(pattern.rawValue)"]
    }

    /// What it has done since it was started.
    public var statistics: MicrophoneStatistics {
        state.withLock { $0.capture }?.statistics ?? MicrophoneStatistics()
    }

    public func stop() {
        let phase = state.withLock { state in
            defer { state.phase = .over }
            return state.phase
        }
        switch phase {
        case .open(let pcm):
            pcm.close()
            mixer?.release()
        case .running(let pcm, let worker):
            pcm.signal()
            worker.join()
        case .over: break
        }
    }
}
