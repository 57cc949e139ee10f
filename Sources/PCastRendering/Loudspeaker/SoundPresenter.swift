public import PCastIO
public import PCastMedia
import Synchronization

/// What a loudspeaker's thread is told.
enum SoundOrder: Sendable {
    case play(AudioFrame, at: Instant)
    /// Nothing of what came before.
    case withdraw
}

/// Holds decoded sound until it is due and plays it on a PCM device of ALSA: a thread of its own, so that decoding goes on
/// meanwhile.
///
/// A device that fails, or is unplugged, is silent, and tried again each second.
public final class SoundPresenter: SoundOutput {
    private struct State {
        var pcm: PlaybackPCM?
        var lead = SoundPlayback.firstLead
        var volume = 1.0
        var statistics = LoudspeakerStatistics()
        var isStopped = false
    }

    /// Frames that wait at most: over two seconds of sound.
    private static let capacity = 128

    private static let retryInterval = TimeSpan.seconds(1)

    private let name: String
    private let queue = FrameQueue<SoundOrder>(capacity: SoundPresenter.capacity)
    private let sleep = CancellableSleep()
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameter name: of alsa-lib, such as `default`.
    /// - Throws: when the device cannot be opened, or no thread can be had.
    public init(name: String) throws(IOError) {
        self.name = name
        do throws(PlaybackFailure) {
            let pcm = try PlaybackPCM(name: name)
            state = Mutex(State(pcm: pcm))
        } catch {
            throw .system(call: "opening the loudspeaker “\(name)”", errno: -error.code)
        }
        // A thread that cannot be had leaves nobody who holds the device.
        let worker = try WorkerThread(name: "present-sound", precedence: .media) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Plays sound from an instant on; never blocks. It should come `lead` before that.
    public func present(_ frame: AudioFrame, at due: Instant) { queue.push(.play(frame, at: due)) }

    public func withdraw() {
        queue.removeAll()
        queue.push(.withdraw)
    }

    /// How long before it is heard sound must be there: what the device holds.
    public var lead: TimeSpan { state.withLock { $0.lead } }

    /// 0 to 1, of the samples' height.
    public var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = min(max(newValue, 0), 1) } }
    }

    /// What the device has done.
    public var statistics: LoudspeakerStatistics { state.withLock { $0.statistics } }

    /// Silent at once. Harmless when called again.
    public func stop() {
        let pcm = state.withLock { state in
            state.isStopped = true
            return state.pcm
        }
        sleep.cancel()
        pcm?.signal()
        thread.withLock { $0 }?.join()
    }

    // MARK: The thread

    private func run() {
        var playback = SoundPlayback()
        while let pcm = state.withLock({ $0.pcm }) ?? reopened() {
            let failure = playback.run(
                on: pcm, volume: { state.withLock { $0.volume } },
                next: { queue.popIfAny() },
                told: { lead, statistics in state.withLock { ($0.lead, $0.statistics) = (lead, statistics) } })
            pcm.close()
            let isStopped = state.withLock { state in
                state.pcm = nil
                state.statistics.failure = failure?.reason
                state.statistics.latency = .zero
                return state.isStopped
            }
            if isStopped { return }
        }
    }

    /// The device, once it can be opened; nil when this is stopped before.
    private func reopened() -> PlaybackPCM? {
        while sleep.sleep(until: MonotonicClock.now() + Self.retryInterval) {
            guard let pcm = try? PlaybackPCM(name: name) else { continue }
            return state.withLock { state in
                guard !state.isStopped else { return nil }
                state.statistics.failure = nil
                state.pcm = pcm
                return pcm
            }
        }
        return nil
    }
}
