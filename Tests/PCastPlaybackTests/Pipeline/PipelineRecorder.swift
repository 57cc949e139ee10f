import PCastCore
import PCastIO
import PCastRendering
import Synchronization

@testable import PCastPlayback

/// Observes the effects of a pipeline on the real clock, and waits for them.
final class PipelineRecorder: AudioOutput {
    enum Sighting: Sendable {
        case frame(Int)
        case event(PipelineEvent)
    }

    private struct State {
        var sightings: [Sighting] = []
        var heard: [(audio: AudioFrame, due: Instant)] = []
        var volume = 1.0
        var isStopped = false
        var isOver = false
        var concurrent = 0
        var overlaps = 0
    }

    private let state = Mutex(State())
    private let changed = WakeSignal()

    // MARK: Inputs

    func see(_ frame: VideoFrame) { note(.frame(TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1)) }

    func handle(_ event: PipelineEvent) { note(.event(event)) }

    private func note(_ sighting: Sighting) {
        state.withLock { state in
            state.concurrent += 1
            if state.concurrent > 1 || state.isOver { state.overlaps += 1 }
            state.sightings.append(sighting)
        }
        state.withLock { $0.concurrent -= 1 }
        changed.raise()
    }

    let lead = TimeSpan.milliseconds(30)

    var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = newValue } }
    }

    func present(_ frame: AudioFrame, at due: Instant) { state.withLock { $0.heard.append((frame, due)) } }

    func discardPending() {
        let now = MonotonicClock.now()
        state.withLock { $0.heard.removeAll { $0.due > now } }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    // MARK: Results

    var sightings: [Sighting] { state.withLock { $0.sightings } }
    var heard: [(audio: AudioFrame, due: Instant)] { state.withLock { $0.heard } }
    var isStopped: Bool { state.withLock { $0.isStopped } }
    /// The number of concurrent calls, and of calls after the end.
    var overlaps: Int { state.withLock { $0.overlaps } }
    /// Marks the end, after which no call may come.
    func isOver() { state.withLock { $0.isOver = true } }

    var frames: [Int] { sightings.compactMap { if case .frame(let number) = $0 { number } else { nil } } }
    var events: [PipelineEvent] { sightings.compactMap { if case .event(let event) = $0 { event } else { nil } } }
    var words: [String] { events.compactMap(\.kind.word) }

    /// Waits until a condition is true. No test should reach the timeout.
    func wait(_ timeout: TimeSpan = .seconds(60), until isSo: (PipelineRecorder) -> Bool) -> Bool {
        let deadline = MonotonicClock.now() + timeout
        while !isSo(self) {
            if !changed.wait(until: deadline), MonotonicClock.now() >= deadline { return isSo(self) }
        }
        return true
    }

    func wait(for word: String, after count: Int = 0) -> Bool { wait { $0.words.dropFirst(count).contains(word) } }
}
