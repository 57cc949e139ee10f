package import PCastCore
package import PCastIO
package import PCastRendering
import Synchronization

/// A pipeline for any ``PlaybackContent``. One thread opens and reads the content. Another displays frames and sends
/// audio when they are due, and reports events. ``MediaPresentation``, under a lock, decides what both do.
///
/// A pipeline must be stopped before its release.
package final class MediaPipeline: PlaybackPipeline {
    /// The state that the threads share.
    private struct State {
        var presentation: MediaPresentation
        var lastFrame: VideoFrame?
        var isMuted = false
        var volume = 1.0
        var isStopped = false
        var isReaderIdle = false
        /// The time at which the presenter wakes without a signal; nil for never.
        var sleepEnd: Instant?
        var isPresenterWaiting = false
    }

    /// The interval at which live content is polled for changes while it is not read.
    private static let lookInterval = TimeSpan.milliseconds(500)
    /// The minimum sleep of the presenter, which prevents a busy loop if a passed deadline has no action.
    private static let minimumSleep = TimeSpan.microseconds(500)

    private let content: any PlaybackContent
    private let audio: any AudioOutput
    private let onFrame: @Sendable (VideoFrame) -> Void
    private let onEvent: @Sendable (PipelineEvent) -> Void
    private let state: Mutex<State>
    private let readerSignal = WakeSignal()
    private let presenterSignal = WakeSignal()
    private let threads = Mutex<[WorkerThread]>([])

    /// Creates a paused pipeline, which loads at once. `audio` is stopped with the pipeline. `wallClock` is the
    /// wall-clock time of media without times. `onFrame` and `onEvent` are called on the presenter's thread; `onFrame`
    /// should return before the next frame is due. Throws an ``IOError`` if a thread cannot be created.
    package init(
        _ content: any PlaybackContent, audio: any AudioOutput = NullAudioOutput(),
        wallClock: WallClockMapping? = nil,
        onFrame: @escaping @Sendable (VideoFrame) -> Void = { _ in },
        onEvent: @escaping @Sendable (PipelineEvent) -> Void = { _ in }
    ) throws(IOError) {
        (self.content, self.audio) = (content, audio)
        (self.onFrame, self.onEvent) = (onFrame, onEvent)
        state = Mutex(State(presentation: MediaPresentation(at: MonotonicClock.now(), wallClock: wallClock)))
        do throws(IOError) {
            let presenter = try WorkerThread(name: "present-media", precedence: .media) { [self] in present() }
            threads.withLock { $0.append(presenter) }
            let reader = try WorkerThread(name: "read-media") { [self] in read() }
            threads.withLock { $0.append(reader) }
        } catch {
            stop()
            throw error
        }
    }

    /// Stops the pipeline and waits for its threads.
    package func stop() {
        state.withLock { $0.isStopped = true }
        content.interrupt()
        readerSignal.raise()
        presenterSignal.raise()
        for thread in threads.withLock({ $0 }) { thread.join() }
        audio.discardPending()
        audio.stop()
        content.close()
    }

    // MARK: Properties

    /// A snapshot of playback now.
    package var playhead: Playhead {
        let now = MonotonicClock.now()
        return state.withLock { $0.presentation.clock.playhead(at: now) }
    }

    /// Returns the wall-clock time of a position; nil if unknown.
    package func timecode(at position: TimeSpan) -> WallTime? {
        state.withLock { $0.presentation.clock.timecode(at: position) }
    }

    /// Returns the position of a wall-clock time; nil if unknown.
    package func position(of timecode: WallTime) -> TimeSpan? {
        state.withLock { $0.presentation.clock.position(of: timecode) }
    }

    /// The last displayed frame; nil before the first.
    package var lastFrame: VideoFrame? { state.withLock { $0.lastFrame } }

    /// The end of the media that is loaded; nil if unknown.
    package var bufferedPosition: TimeSpan? {
        let decoded = state.withLock { state in
            state.presentation.phase == .showing ? state.presentation.available : nil
        }
        guard let loaded = content.bufferedPosition else { return decoded }
        return max(loaded, decoded ?? loaded)
    }

    /// The statistics since the beginning.
    package var statistics: PresentationStatistics { state.withLock { $0.presentation.statistics } }

    // MARK: Commands

    /// Plays.
    package func play() { command { $0.play(at: $1) } }

    /// Pauses.
    package func pause() { command { $0.pause(at: $1) } }

    /// Sets the playback rate, clamped to ``PlayheadClock/rates``.
    package func setRate(_ rate: Double) { command { $0.setRate(rate, at: $1) } }

    /// Seeks to a position, clamped to the seekable range, and returns the epoch of the seek.
    @discardableResult
    package func seek(to position: TimeSpan) -> PlayheadEpoch {
        let (epoch, isPending) = command { presentation, now in
            let epoch = presentation.seek(to: position, at: now)
            return (epoch, presentation.pendingSeek != nil && presentation.isOpen)
        }
        if isPending { content.interrupt() }
        return epoch
    }

    /// Seeks to the frame of a wall-clock time and returns the epoch of the seek; nil, without effect, if its position
    /// is unknown.
    @discardableResult
    package func seek(to wallTime: WallTime) -> PlayheadEpoch? {
        let epoch = command { presentation, now in presentation.seek(to: wallTime, at: now) }
        if epoch != nil { content.interrupt() }
        return epoch
    }

    /// Selects a track of a kind, or none if `track` is nil.
    package func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) {
        let isOpen = command { presentation, now in
            presentation.select(track, of: kind, at: now)
            return presentation.isOpen
        }
        if isOpen { content.interrupt() }
    }

    /// Whether the audio is muted.
    package var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set { setLoudness { $0.isMuted = newValue } }
    }

    /// The volume, clamped to 0 to 1.
    package var volume: Double {
        get { state.withLock { $0.volume } }
        set { setLoudness { $0.volume = min(max(newValue, 0), 1) } }
    }

    /// Changes the muted state or the volume, and applies both to the audio output.
    private func setLoudness(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            audio.volume = state.isMuted ? 0 : state.volume
        }
    }

    /// Carries out a command and wakes both threads.
    private func command<Result: Sendable>(_ body: (inout MediaPresentation, Instant) -> Result) -> Result {
        let result = state.withLock { body(&$0.presentation, MonotonicClock.now()) }
        readerSignal.raise()
        presenterSignal.raise()
        return result
    }

    // MARK: Reader

    /// Runs the reader until the pipeline stops.
    private func read() {
        while let task = nextTask() {
            do throws(PlaybackError) {
                try perform(task)
            } catch {
                guard error != .interrupted else { continue }
                change { $0.failed(error, at: $1) }
            }
        }
    }

    /// Returns the next task of the reader; nil after the stop.
    private func nextTask() -> MediaPresentation.ReaderTask? {
        state.withLock { state in
            if state.isStopped { return nil }
            let task = state.presentation.readerTask()
            state.isReaderIdle = task == .rest
            return task
        }
    }

    /// Carries out a task of the reader.
    private func perform(_ task: MediaPresentation.ReaderTask) throws(PlaybackError) {
        switch task {
        case .rest: readerSignal.wait(until: nil)
        case .open:
            let position = try content.open()
            guard let overview = content.overview else {
                throw PlaybackError.notPlayable("", reason: "its state is unknown")
            }
            change { $0.opened(overview, at: position, now: $1) }
        case .select(let track, let kind):
            do throws(PlaybackError) {
                try content.select(track, of: kind)
            } catch .noTrack {
                return change { presentation, _ in presentation.selected(track, of: kind, overview: nil) }
            }
            let overview = content.overview
            change { presentation, _ in presentation.selected(track, of: kind, overview: overview) }
        case .seek(let position, let epoch):
            do throws(PlaybackError) {
                let reached = try content.seek(to: position)
                change { presentation, _ in presentation.finishSeek(to: reached, of: epoch) }
            } catch .notSeekable {
                change { presentation, _ in presentation.failSeek(of: epoch) }
            }
        case .read(let epoch):
            let item = try content.read()
            change { presentation, now in
                guard let item else { return presentation.reachedEnd(of: epoch, at: now) }
                presentation.take(item, of: epoch, at: now)
            }
        }
    }

    /// Changes the presentation, and wakes the presenter if its next deadline is now earlier.
    private func change(_ body: (inout MediaPresentation, Instant) -> Void) {
        let wakes = state.withLock { state in
            let now = MonotonicClock.now()
            body(&state.presentation, now)
            guard state.isPresenterWaiting, let deadline = state.presentation.deadline(at: now) else { return false }
            return state.sleepEnd.map { deadline < $0 } ?? true
        }
        if wakes { presenterSignal.raise() }
    }

    // MARK: Presenter

    /// Runs the presenter until the pipeline stops.
    private func present() {
        var nextCheck: Instant?
        while true {
            let lead = audio.lead
            let loaded = content.bufferedPosition
            let output = state.withLock { state -> MediaPresentation.Output? in
                guard !state.isStopped else { return nil }
                state.presentation.audioOutputLatency = lead
                state.presentation.loaded = loaded
                if let origin = Self.wallClockOrigin() { state.presentation.wallClockOrigin = origin }
                return state.presentation.poll(at: MonotonicClock.now())
            }
            if let output {
                perform(output)
                continue
            }
            look(&nextCheck)
            guard sleep(until: nextCheck) else { return }
        }
    }

    /// The maximum time between two readings of the clocks that are compared.
    private static let longestReading = TimeSpan.milliseconds(1)

    /// Returns the wall-clock time at the origin of the monotonic clock; nil if the thread was suspended between the
    /// readings of both clocks.
    private static func wallClockOrigin() -> WallTime? {
        let before = MonotonicClock.now()
        let wallTime = MonotonicClock.wallTime()
        guard MonotonicClock.now() - before < longestReading else { return nil }
        return wallTime - (before - Instant(nanoseconds: 0))
    }

    /// Carries out an output of the presentation.
    private func perform(_ output: MediaPresentation.Output) {
        switch output {
        case .show(let frame):
            state.withLock { $0.lastFrame = frame }
            onFrame(frame)
        case .play(let frame, let due): audio.present(frame, at: due)
        case .discardAudio: audio.discardPending()
        case .event(let event): onEvent(event)
        case .interruptReader: content.interrupt()
        }
    }

    /// Polls live content for changes, which also occur while it is not read.
    private func look(_ next: inout Instant?) {
        let now = MonotonicClock.now()
        guard next.map({ now >= $0 }) ?? true else { return }
        guard let overview = content.overview, overview.kind == .live else {
            next = nil
            return
        }
        next = now + Self.lookInterval
        state.withLock { state in
            if state.presentation.isOpen, state.presentation.overview != overview { state.presentation.set(overview) }
        }
    }

    /// Sleeps until the next deadline, and first wakes the reader if the queues have space. Returns false after the
    /// stop.
    private func sleep(until look: Instant?) -> Bool {
        let (deadline, wakesReader, isStopped) = state.withLock { state in
            let now = MonotonicClock.now()
            let deadline = state.presentation.deadline(at: now).map { max($0, now + Self.minimumSleep) }
            state.sleepEnd = Instant.earlier(deadline, look)
            state.isPresenterWaiting = true
            let wakesReader = state.isReaderIdle && state.presentation.hasWork
            if wakesReader { state.isReaderIdle = false }
            return (state.sleepEnd, wakesReader, state.isStopped)
        }
        if wakesReader { readerSignal.raise() }
        if isStopped { return false }
        presenterSignal.wait(until: deadline)
        return state.withLock { state in
            state.isPresenterWaiting = false
            return !state.isStopped
        }
    }
}
