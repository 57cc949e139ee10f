import Foundation
import PCastCore
import PCastRendering
import Synchronization

/// An audio output that measures the audible level.
final class ToneMeter: AudioOutput {
    private struct State {
        var volume = 1.0
        var level = 0.0
        var frames = 0
    }

    private let state = Mutex(State())

    /// The root mean square of the last audible frame; 1 for the largest samples.
    var level: Double { state.withLock { $0.level } }

    /// The number of frames.
    var frames: Int { state.withLock { $0.frames } }

    var lead: TimeSpan { .zero }

    var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = newValue } }
    }

    func present(_ frame: AudioFrame, at due: Instant) {
        let squares = frame.samples.reduce(0.0) { $0 + Double($1) * Double($1) }
        let height = squares == 0 ? 0 : (squares / Double(frame.samples.count)).squareRoot() / 32_768
        state.withLock { state in
            state.level = height * state.volume
            state.frames += 1
        }
    }

    func discardPending() {}

    func stop() {}
}
