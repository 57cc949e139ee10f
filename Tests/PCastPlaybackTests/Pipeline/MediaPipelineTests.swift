import PCastCore
import PCastIO
import PCastRendering
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("A pipeline and its threads")
struct MediaPipelineTests {
    private let recorder = PipelineRecorder()

    private func play(_ content: StampedContent) throws -> MediaPipeline {
        try MediaPipeline(
            content, audio: recorder, onFrame: { [recorder] in recorder.see($0) },
            onEvent: { [recorder] in recorder.handle($0) })
    }

    private func end(_ pipeline: MediaPipeline, _ content: StampedContent) {
        pipeline.stop()
        recorder.isOver()
        pipeline.play()
        pipeline.stop()
        #expect(content.isClosed && recorder.isStopped)
        #expect(recorder.overlaps == 0, "calls must not overlap, and none may follow the end")
    }

    @Test("a pipeline loads at once and shows the first frame, and when played shows each frame in order and ends")
    func whole() throws {
        let content = StampedContent(StampedMedia(duration: .milliseconds(1_500)))
        let pipeline = try play(content)
        #expect(recorder.wait(for: "filled"))
        #expect(recorder.words == ["buffering", "overview", "128x72", "landed", "filled"])
        #expect(recorder.frames == [0] && pipeline.lastFrame != nil)
        #expect(pipeline.playhead.rate == 0 && pipeline.playhead.seekableRange == .zero...(.milliseconds(1_500)))
        pipeline.play()
        #expect(recorder.wait(for: "ended"))
        let numbers = recorder.frames
        // A busy machine may drop some frames. None comes twice or out of order.
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(numbers.count + pipeline.statistics.framesDropped == 45 && numbers.last == 44)
        #expect(pipeline.playhead.position == .milliseconds(1_500) && pipeline.playhead.rate == 0)
        // Audio and video have one clock: a sample is due when the position equals its own. Only a stall, which a busy
        // machine can cause, postpones all later samples.
        let starts = recorder.heard.dropLast().map { $0.due - $0.audio.timestamp.span }
        let changes = zip(starts.dropFirst(), starts).map { $0 - $1 }
        #expect(starts.count > 1)
        #expect(changes.allSatisfy { $0 > .milliseconds(-1) })
        #expect(changes.count { $0 >= .milliseconds(1) } <= pipeline.statistics.stalls)
        end(pipeline, content)
    }

    @Test("a seek that waits for media is superseded by the next, and the last one completes")
    func superseding() throws {
        let content = StampedContent(StampedMedia(duration: .seconds(30)), gate: .seconds(2))
        let pipeline = try play(content)
        #expect(recorder.wait(for: "filled"))
        pipeline.play()
        var epochs: [PlayheadEpoch] = []
        for target in [10, 20, 15, 25] as [Int64] { epochs.append(pipeline.seek(to: .seconds(target))) }
        #expect(epochs == epochs.sorted() && Set(epochs).count == 4)
        #expect(pipeline.playhead.isSeeking && pipeline.playhead.position == .seconds(25))
        let last = pipeline.seek(to: .milliseconds(1_000))
        #expect(recorder.wait { $0.events.contains { $0.epoch == last && $0.kind.word == "landed" } })
        let received = recorder.sightings
        let reachedPosition = try #require(
            received.firstIndex {
                if case .event(let event) = $0 { event.epoch == last && event.kind.word == "landed" } else { false }
            })
        // No frame of the other positions was shown, and the frame at the target precedes its event.
        let frames = received[..<reachedPosition].compactMap { if case .frame(let number) = $0 { number } else { nil } }
        #expect(frames.last == 30 && frames.allSatisfy { $0 < 60 })
        #expect(content.openings == 1)
        end(pipeline, content)
    }

    @Test("a pipeline can be stopped while the content waits, and fails when the content fails")
    func stopAndFail() throws {
        let waiting = StampedContent(StampedMedia(), gate: .zero)
        let pipeline = try play(waiting)
        #expect(recorder.wait(for: "overview"))
        end(pipeline, waiting)
    }

    @Test("content that cannot be opened fails, and reports nothing else")
    func cannotOpen() throws {
        let content = StampedContent(StampedMedia(), gate: .zero, failure: .refused("x", status: 404))
        let pipeline = try play(content)
        #expect(recorder.wait(for: "failed"))
        #expect(recorder.words == ["buffering", "failed"])
        pipeline.play()
        pipeline.seek(to: .seconds(3))
        pipeline.select(nil, of: .audio)
        #expect(pipeline.seek(to: WallTime(millisecondsSinceEpoch: 5)) == nil)
        end(pipeline, content)
        #expect(recorder.words == ["buffering", "failed"])
    }

    @Test("content that stalls and resumes is played to its end, with its stall reported")
    func stall() throws {
        let content = StampedContent(StampedMedia(duration: .seconds(2)), gate: .milliseconds(700))
        let pipeline = try play(content)
        pipeline.play()
        #expect(recorder.wait(for: "filled"))
        #expect(recorder.wait { $0.words.last == "buffering" && $0.words.count > 3 })
        #expect(pipeline.playhead.rate == 0)
        content.open(gate: nil)
        #expect(recorder.wait(for: "ended"))
        #expect(recorder.frames.last == 59)
        end(pipeline, content)
    }

    @Test("a moving window is reported even if nothing is read")
    func window() throws {
        let content = StampedContent(StampedMedia(duration: .seconds(60)))
        content.change { overview in
            overview.kind = .live
            overview.seekableRange = .zero...(.seconds(20))
        }
        let pipeline = try play(content)
        #expect(recorder.wait(for: "filled"))
        let count = recorder.words.count
        content.change { $0.seekableRange = .seconds(10)...(.seconds(30)) }
        #expect(recorder.wait(for: "overview", after: count))
        #expect(pipeline.playhead.isEvicted)
        pipeline.play()
        #expect(recorder.wait(for: "evicted"))
        #expect(recorder.wait { $0.events.last { $0.kind.word == "landed" }.map { $0.epoch.number >= 2 } ?? false })
        #expect(pipeline.playhead.position >= .seconds(11) && !pipeline.playhead.isEvicted)
        end(pipeline, content)
    }

    @Test("volume and mute apply to the audio output, and a rejected track changes nothing")
    func settings() throws {
        let content = StampedContent(StampedMedia())
        let pipeline = try play(content)
        pipeline.volume = 0.25
        #expect(recorder.volume == 0.25)
        pipeline.isMuted = true
        #expect(recorder.volume == 0 && pipeline.volume == 0.25)
        pipeline.isMuted = false
        #expect(recorder.volume == 0.25)
        pipeline.volume = 7
        #expect(pipeline.volume == 1)
        #expect(recorder.wait(for: "filled"))
        let count = recorder.words.count
        pipeline.select(.init(rawValue: "none"), of: .audio)
        #expect(recorder.wait(for: "overview", after: count))
        pipeline.select(nil, of: .audio)
        #expect(
            recorder.wait {
                $0.events.contains {
                    if case .overview(let overview) = $0.kind { overview.selected.count == 1 } else { false }
                }
            })
        end(pipeline, content)
    }
}

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
