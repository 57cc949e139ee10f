import PCastCore
import PCastIO
import Synchronization

/// The echo cancellation of one input, which continues when the microphone changes.
final class EchoCancelledInput: Sendable {
    private let canceller = Mutex<EchoCanceller?>(nil)

    /// Adapts to another selection; nil and devices without echo disable the cancellation.
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

    /// Returns the frame without echo and with the same times. `captured` is the capture time of its first sample.
    func clean(_ frame: AudioFrame, captured: WallTime) -> AudioFrame {
        canceller.withLock { canceller in
            // While the microphone is replaced, a frame of the previous one may still arrive.
            guard let canceller, canceller.channels == frame.channels else { return frame }
            return canceller.process(frame, capturedAt: MonotonicClock.reference().instant(at: captured))
        }
    }
}
