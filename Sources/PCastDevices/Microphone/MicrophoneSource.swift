package import PCastCore
import PCastIO
import Synchronization

/// A microphone or another ALSA capture device, at 48 kHz on the system clock.
package final class MicrophoneSource: AudioSource {
    private enum Phase {
        case open(CapturePCM)
        case running(CapturePCM, WorkerThread)
        case over
    }

    private struct State {
        var phase: Phase
        var capture: MicrophoneCapture?
    }

    /// The number of channels, 1 or 2.
    package let channels: Int

    private let address: MicrophoneAddress
    private let mixer: CaptureMixer?
    private let state: Mutex<State>

    /// Opens a microphone. It captures nothing before `start`.
    ///
    /// - Parameters:
    ///   - id: The identifier from `SourceDeviceInfo`, or a name of alsa-lib such as `plughw:1,0`; nil for the
    ///     preferred microphone.
    ///   - configuration: The channels, and the polar pattern if the card can change it. Echo cancellation is not part
    ///     of this source.
    /// - Throws: `DeviceError`: `.notFound`, `.busy` if another program uses it, `.forbidden`, or `.faulty` if the
    ///   driver refuses it.
    package init(id: String?, configuration: AudioConfiguration) throws(DeviceError) {
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

    /// Starts capturing. `deliver` receives audio and `ended` the end of the source, both on the microphone's thread.
    /// Throws `DeviceError.noThread`. It has no effect after the first call.
    package func start(
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
                    // The device is closed first, because the callback may open it again.
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

    /// Changes the polar pattern while capturing. The channels do not change. Returns the reason for each capability
    /// that is unsatisfied.
    @discardableResult
    package func apply(_ configuration: AudioConfiguration) -> [DeviceCapability: String] {
        let pattern = configuration.polarPattern
        if pattern == .automatic || mixer?.select(pattern) == true { return [:] }
        return [.polarPattern: "the sound card has no control for the polar pattern \(pattern.rawValue)"]
    }

    /// The statistics since `start`.
    package var statistics: MicrophoneStatistics {
        state.withLock { $0.capture }?.statistics ?? MicrophoneStatistics()
    }

    /// Stops capturing and releases the device. It may be called repeatedly.
    package func stop() {
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

/// The statistics of a microphone since it was started.
package struct MicrophoneStatistics: Hashable, Sendable {
    /// The number of delivered frames of 20 ms.
    package var frames = 0

    /// The number of overruns and restarts of the device.
    package var xruns = 0

    /// The number of samples of silence that replace lost audio.
    package var silentSamples = 0

    /// The number of implausible driver timestamps.
    package var implausibleTimestamps = 0

    /// The deviation of the device's rate from its nominal rate, in parts per million; positive if it is faster.
    package var drift = 0.0

    /// Creates statistics with zeros.
    package init() {}
}
