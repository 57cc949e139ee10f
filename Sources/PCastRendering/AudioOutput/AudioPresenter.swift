public import PCastCore
package import PCastIO
import Synchronization

/// An order to an audio output's thread.
enum AudioOrder: Sendable {
    case play(AudioFrame, at: Instant)
    /// Discards all audio before this order.
    case discardPending
}

/// Plays decoded audio at its presentation time on an ALSA device. It has its own thread, so that decoding continues
/// meanwhile.
///
/// If the device fails or is unplugged, the output is silent and tries to reopen the device every second.
package final class AudioPresenter: AudioOutput {
    private struct State {
        var pcm: PlaybackPCM?
        var lead = AudioPlayback.assumedLatency
        var volume = 1.0
        var statistics = AudioOutputStatistics()
        var isStopped = false
    }

    /// The most frames that are queued: more than two seconds of audio.
    private static let capacity = 128

    private static let retryInterval = TimeSpan.seconds(1)

    private let name: String
    private let playedAudio: PlayedAudio
    private let queue = FrameQueue<AudioOrder>(capacity: AudioPresenter.capacity)
    private let sleep = CancellableSleep()
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// Opens an output by its alsa-lib device name, such as `default`. Throws `IOError` if the device cannot be opened
    /// or no thread can be created. What is played is recorded in `playedAudio`.
    package init(name: String, playedAudio: PlayedAudio = .shared) throws(IOError) {
        (self.name, self.playedAudio) = (name, playedAudio)
        do throws(PlaybackFailure) {
            let pcm = try PlaybackPCM(name: name)
            state = Mutex(State(pcm: pcm))
        } catch {
            throw .system(call: "opening the audio output “\(name)”", errno: -error.code)
        }
        // If no thread can be created, `pcm` is released and closes the device.
        let worker = try WorkerThread(name: "present-sound", precedence: .media) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Plays audio at a presentation time. It never blocks. Audio should be delivered `lead` before that time.
    package func present(_ frame: AudioFrame, at due: Instant) { queue.push(.play(frame, at: due)) }

    /// Discards audio that was not yet written to the device.
    package func discardPending() {
        queue.removeAll()
        queue.push(.discardPending)
    }

    /// The time before its presentation time at which audio must be delivered. It covers the device's buffer.
    package var lead: TimeSpan { state.withLock { $0.lead } }

    /// The volume as a factor of the amplitude, 0 to 1.
    package var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = min(max(newValue, 0), 1) } }
    }

    /// The statistics of the device.
    package var statistics: AudioOutputStatistics { state.withLock { $0.statistics } }

    /// Stops at once. It may be called repeatedly.
    package func stop() {
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
        var playback = AudioPlayback(playedAudio)
        while let pcm = state.withLock({ $0.pcm }) ?? reopened() {
            let failure = playback.run(
                on: pcm, volume: { state.withLock { $0.volume } },
                next: { queue.popIfAny() },
                onLead: { lead, statistics in state.withLock { ($0.lead, $0.statistics) = (lead, statistics) } })
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

    /// Reopens the device, with retries. Returns nil if the output is stopped before that.
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

/// The statistics of an audio output since it was opened.
package struct AudioOutputStatistics: Hashable, Sendable {
    /// The number of samples per channel at 48 kHz that were played, without silence between them.
    package var samplesPlayed = 0

    /// The number of samples per channel at 48 kHz that were skipped because they were late.
    package var samplesSkipped = 0

    /// The number of interruptions because the next audio was missing.
    package var breaks = 0

    /// The number of underruns and restarts of the device.
    package var xruns = 0

    /// The current time from writing audio to the device until it is played; zero without a device.
    package var latency = TimeSpan.zero

    /// The deviation of the device's rate from its nominal rate, in parts per million; positive if it is faster.
    package var drift = 0.0

    /// The reason why there is no device; nil if there is one.
    package var failure: String?

    /// Creates statistics with zeros.
    package init() {}
}

/// A destination for audio with presentation times: an audio device, or nothing.
public protocol AudioOutput: AnyObject, Sendable {
    /// The time before its presentation time at which audio must be delivered.
    var lead: TimeSpan { get }

    /// The volume as a factor of the amplitude, 0 to 1.
    var volume: Double { get set }

    /// Plays audio at a presentation time. It never blocks.
    func present(_ frame: AudioFrame, at due: Instant)

    /// Discards audio that was not yet written to the device.
    func discardPending()

    /// Stops at once. It may be called repeatedly.
    func stop()
}

/// An output that discards all audio.
public final class NullAudioOutput: AudioOutput {
    private let loudness = Mutex(1.0)

    /// Creates an output.
    public init() {}

    /// The time before its presentation time at which audio must be delivered; zero.
    public var lead: TimeSpan { .zero }

    /// The volume, 0 to 1, which has no effect.
    public var volume: Double {
        get { loudness.withLock { $0 } }
        set { loudness.withLock { $0 = min(max(newValue, 0), 1) } }
    }

    /// Discards the audio.
    public func present(_ frame: AudioFrame, at due: Instant) {}

    /// Does nothing.
    public func discardPending() {}

    /// Does nothing.
    public func stop() {}
}
