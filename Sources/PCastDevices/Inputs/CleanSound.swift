import PCastIO
import PCastMedia
import Synchronization

/// Takes what this machine plays out of the sound of one input, whichever microphone's thread it comes on.
final class CleanSound: Sendable {
    private let canceller = Mutex<EchoCanceller?>(nil)

    /// What sound is cleaned from now on; nil for what no loudspeaker can get into.
    func follow(_ selection: AudioSelection?) {
        guard let selection, case .audio(let capabilities) = selection.device.capabilities, capabilities.canCancelEcho
        else { return canceller.withLock { $0 = nil } }
        let configuration = selection.configuration
        canceller.withLock { canceller in
            if let current = canceller, current.channels == configuration.channels.channels {
                current.mode = configuration.echoCancellation
            } else {
                canceller = EchoCanceller(
                    channels: configuration.channels.channels, mode: configuration.echoCancellation)
            }
        }
    }

    /// The frame with the same times.
    ///
    /// - Parameter captured: when its first sample was.
    func clean(_ frame: AudioFrame, captured: WallTime) -> AudioFrame {
        canceller.withLock { canceller in
            // In the moment in which another microphone takes over, a frame of the former may still come.
            guard let canceller, canceller.channels == frame.channels else { return frame }
            return canceller.process(frame, capturedAt: MonotonicClock.reference().instant(at: captured))
        }
    }
}
