import PCastCore
import PCastIO
import Synchronization

/// The newest captions of a viewed stream. The text of a frame is found by the frame's capture time, so that each
/// renderer of the stream may have its own delay.
final class ReceivedCaptions: Sendable {
    private struct State {
        var gate = CaptionGate()
        /// A time by the platform's clock, and when it was received.
        var reference: (timestamp: WallTime, arrival: Instant)?
        var readers = StreamReaders<[CaptionCue]>(.newest(ReceivedCaptions.backlog))
        var isFinished = false
    }

    /// The number of batches that are queued for a slow reader. Beyond that, the oldest are dropped.
    private static let backlog = 64

    private let state = Mutex(State())
    /// Whether there have been captions, so that frames of other streams need no lock.
    private let exist = Atomic(false)

    /// Adds cues that the platform sent at `timestamp` by its clock.
    func add(_ cues: [CaptionCue], timestamp: WallTime, at now: Instant) {
        guard !cues.isEmpty else { return }
        state.withLock { state in
            state.reference = (timestamp, now)
            let new = cues.filter { !state.gate.cues.contains($0) }
            for cue in new { state.gate.add(cue) }
            if !new.isEmpty { state.readers.yield(new) }
        }
        exist.store(true, ordering: .releasing)
    }

    /// Returns the text of a frame. The capture time is nil for a stream whose capture times are unknown: its newest
    /// frame then counts as captured now. Returns nil if there is no text.
    func text(at captureTime: WallTime?, now: Instant) -> String? {
        guard exist.load(ordering: .acquiring) else { return nil }
        return state.withLock { state in
            let time = captureTime ?? state.reference.map { $0.timestamp + (now - $0.arrival) }
            return time.flatMap { state.gate.text(at: $0) }
        }
    }

    /// Returns the present cues and then the arriving ones, until the stream ends.
    func listen() -> AsyncStream<[CaptionCue]> {
        state.withLock { state in
            let known = state.gate.cues
            let stream = state.readers.add(beginningWith: known.isEmpty ? nil : known)
            if state.isFinished { state.readers.finish() }
            return stream
        }
    }

    /// Sets `caption` to the text at the platform's time, for a stream without video, until the task is cancelled or the
    /// stream ends.
    func follow(_ caption: ObservableValue<String?>) -> Task<Void, Never> {
        let batches = listen()
        return Task {
            var showing: Task<Void, Never>?
            for await _ in batches {
                showing?.cancel()
                await showing?.value
                showing = Task { await show(caption) }
            }
            showing?.cancel()
        }
    }

    /// Sets `caption` at each change that is known, until there is none.
    private func show(_ caption: ObservableValue<String?>) async {
        while !Task.isCancelled {
            let now = MonotonicClock.now()
            caption.set(text(at: nil, now: now))
            let pause = state.withLock { state -> TimeSpan? in
                guard let reference = state.reference else { return nil }
                let time = reference.timestamp + (now - reference.arrival)
                return state.gate.change(after: time).map { $0 - time }
            }
            guard let pause, (try? await Task.sleep(for: pause.duration)) != nil else { return }
        }
    }

    /// Ends the streams of cues.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            state.readers.finish()
        }
    }
}
