public import PCastIO
public import PCastMedia
import Synchronization

/// Takes what this process plays out of what its microphone hears, frame by frame, without delaying it.
///
/// An adaptive filter learns the way from the loudspeakers through the room and subtracts the echo that it foretells;
/// what it leaves is suppressed frequency by frequency, near speech excepted. How long devices hold sound back (up to
/// 300 ms) and how their clocks differ (up to 0.1 %) it finds out from the sound itself.
///
/// Its limits: an echo path is learnt for 120 ms, what a room holds longer is only suppressed; so is what a
/// loudspeaker distorts. The first half second of sound in a canceller's life passes as it is, until the delay is
/// found. A path that changes (somebody moves the microphone) is learnt again within a second or two. What other
/// programs play is not known here, and stays.
public final class EchoCanceller: Sendable {
    private struct State: ~Copyable {
        let remover: EchoRemover
        var mode: AudioEchoCancellationMode
        var isActive = false
    }

    /// 1 or 2.
    public let channels: Int

    private let played: PlayedSound
    private let state: Mutex<State>

    /// - Parameters:
    ///   - channels: of the microphone, 1 or 2; two cost twice as much.
    ///   - played: what is taken out; all that this process plays if not said.
    public init(channels: Int, mode: AudioEchoCancellationMode = .automatic, played: PlayedSound = .shared) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
        self.played = played
        state = Mutex(State(remover: EchoRemover(channels: channels, played: played), mode: mode))
    }

    /// When it cancels; may be changed at any time, by any thread.
    public var mode: AudioEchoCancellationMode {
        get { state.withLock { $0.mode } }
        set { state.withLock { $0.mode = newValue } }
    }

    /// What it has found out.
    public var status: EchoCancellerStatus {
        state.withLock {
            EchoCancellerStatus(isActive: $0.isActive, delay: $0.remover.delay, clockDrift: $0.remover.drift)
        }
    }

    /// A microphone's frame without echo, of the same time and length. While it is off, or automatic and nothing is
    /// played, it is the very frame that was given; between the two it is faded within a frame.
    ///
    /// - Parameters:
    ///   - frame: the next one, a multiple of 5 ms, with as many channels as the canceller.
    ///   - instant: when its first sample was captured; jitter of less than 5 ms does no harm. Frames may be missing.
    public func process(_ frame: AudioFrame, capturedAt instant: Instant) -> AudioFrame {
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
            // Between two numbers of 16 bits.
            samples[index] = Int16((original + share * (Float(samples[index]) - original)).rounded())
        }
    }
}
