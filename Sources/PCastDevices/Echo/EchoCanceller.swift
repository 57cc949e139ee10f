package import PCastCore
package import PCastIO
import Synchronization

/// Removes the audio that this process plays from a microphone's signal, frame by frame and without delay.
///
/// An adaptive filter learns the path from the speakers through the room to the microphone, and subtracts the predicted
/// echo. The residual echo is suppressed by frequency, except during near-end speech. The delay of the devices (up to
/// 300 ms) and the difference of their clocks (up to 0.1 %) are measured from the audio.
///
/// Limits: the filter covers 120 ms; longer reverberation and distortion by the speakers are only suppressed. The first
/// half second of audio passes unchanged until the delay is known. If the path changes (e.g., the microphone moves), it
/// is learned again within one or two seconds. Audio of other processes is unknown here and is not removed.
package final class EchoCanceller: Sendable {
    private struct State: ~Copyable {
        let remover: EchoCancellationProcessor
        var mode: AudioEchoCancellationMode
        var isActive = false
    }

    /// The number of channels, 1 or 2.
    package let channels: Int

    private let played: PlayedAudio
    private let state: Mutex<State>

    /// Creates an echo canceller.
    ///
    /// - Parameters:
    ///   - channels: The number of channels of the microphone, 1 or 2. Two channels cost twice as much.
    ///   - mode: The echo cancellation mode.
    ///   - played: The reference signal; by default all audio of this process.
    package init(channels: Int, mode: AudioEchoCancellationMode = .automatic, played: PlayedAudio = .shared) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        self.played = played
        state = Mutex(State(remover: EchoCancellationProcessor(channels: channels, played: played), mode: mode))
    }

    /// The echo cancellation mode. It can be changed at any time and from any thread.
    package var mode: AudioEchoCancellationMode {
        get { state.withLock { $0.mode } }
        set { state.withLock { $0.mode = newValue } }
    }

    /// The current status.
    package var status: EchoCancellerStatus {
        state.withLock {
            EchoCancellerStatus(isActive: $0.isActive, delay: $0.remover.delay, clockDrift: $0.remover.drift)
        }
    }

    /// Removes the echo from a frame.
    ///
    /// - Parameters:
    ///   - frame: The next frame. Its length must be a multiple of 5 ms, and its channels those of the canceller.
    ///   - instant: The capture time of its first sample. Jitter below 5 ms does not matter, and frames may be missing.
    /// - Returns: A frame with the same times and length. It is the same frame if the mode is `off`, or `automatic` and
    ///   nothing is played. Changes between both are crossfaded within a frame.
    package func process(_ frame: AudioFrame, capturedAt instant: Instant) -> AudioFrame {
        precondition(frame.channels == channels && frame.sampleCount.isMultiple(of: EchoBlock.sampleCount))
        return state.withLock { state in
            let isWanted =
                switch state.mode {
                case .off: false
                case .on: true
                case .automatic: played.isPlaying(at: instant + frame.length)
                }
            let wasActive = state.isActive
            state.isActive = isWanted
            guard isWanted || wasActive else { return frame }
            var cleaned = frame
            state.remover.clean(&cleaned.samples, capturedAt: instant, isResumed: !wasActive)
            if isWanted != wasActive { Self.fade(&cleaned.samples, isWanted ? .in : .out, from: frame) }
            return cleaned
        }
    }

    private enum Fade { case `in`, out }

    private static func fade(_ samples: inout [Int16], _ fade: Fade, from frame: AudioFrame) {
        for index in samples.indices {
            let passed = (Float(index / frame.channels) + 0.5) / Float(frame.sampleCount)
            let share = fade == .in ? passed : 1 - passed
            let original = Float(frame.samples[index])
            // The result lies between two 16-bit numbers.
            samples[index] = Int16((original + share * (Float(samples[index]) - original)).rounded())
        }
    }
}

/// The status of an echo canceller.
package struct EchoCancellerStatus: Hashable, Sendable {
    /// Whether it currently removes echo.
    package var isActive: Bool

    /// The delay between playing audio and capturing it; nil until it is known.
    package var delay: TimeSpan?

    /// The rate by which the microphone's clock is faster than that of the audio output, in parts per million.
    package var clockDrift: Double

    /// Creates a status.
    package init(isActive: Bool, delay: TimeSpan?, clockDrift: Double) {
        self.isActive = isActive
        self.delay = delay
        self.clockDrift = clockDrift
    }
}
