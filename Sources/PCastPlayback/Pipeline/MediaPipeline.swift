public import PCastCore
public import PCastIO
public import PCastRendering
import Synchronization

/// Plays any ``PlaybackContent``: one thread opens and reads it, another shows pictures when they are due, hands sound on to be
/// heard when it is, and tells what happens. What they do is said by ``MediaPresentation``, which is behind a lock here.
///
/// A pipeline that was made has to be stopped.
public final class MediaPipeline: PlaybackPipeline {
    /// What the threads share.
    private struct State {
        var presentation: MediaPresentation
        var lastFrame: VideoFrame?
        var isMuted = false
        var volume = 1.0
        var isStopped = false
        var isReaderResting = false
        /// Until when the presenter sleeps if nothing wakes it; nil for ever.
        var sleepEnd: Instant?
        var isPresenterAsleep = false
    }

    /// How often live media are asked how they are, while nothing of them is read.
    private static let lookInterval = TimeSpan.milliseconds(500)
    /// A deadline that has passed and has nothing to be done is come back to after this.
    private static let leastSleep = TimeSpan.microseconds(500)

    private let content: any PlaybackContent
    private let sound: any AudioOutput
    private let onFrame: @Sendable (VideoFrame) -> Void
    private let onEvent: @Sendable (PipelineEvent) -> Void
    private let state: Mutex<State>
    private let readerSignal = WakeSignal()
    private let presenterSignal = WakeSignal()
    private let threads = Mutex<[WorkerThread]>([])

    /// - Parameters:
    ///   - sound: is stopped with the pipeline.
    ///   - wallClock: when the media were made; nil for what they say.
    ///   - onFrame: is called when a picture is due, in turn with `onEvent`; whoever draws it should not take longer than it
    ///     stands.
    ///   - onEvent: what happens.
    /// - Throws: when no thread can be had.
    public init(
        _ content: any PlaybackContent, sound: any AudioOutput = NullAudioOutput(),
        wallClock: WallClockMapping? = nil,
        onFrame: @escaping @Sendable (VideoFrame) -> Void = { _ in },
        onEvent: @escaping @Sendable (PipelineEvent) -> Void = { _ in }
    ) throws(IOError) {
        (self.content, self.sound) = (content, sound)
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

    public func stop() {
        state.withLock { $0.isStopped = true }
        content.interrupt()
        readerSignal.raise()
        presenterSignal.raise()
        for thread in threads.withLock({ $0 }) { thread.join() }
        sound.withdraw()
        sound.stop()
        content.close()
    }

    // MARK: What is played

    public var playhead: Playhead {
        let now = MonotonicClock.now()
        return state.withLock { $0.presentation.clock.playhead(at: now) }
    }

    public func timecode(at position: TimeSpan) -> WallTime? {
        state.withLock { $0.presentation.clock.timecode(at: position) }
    }

    public func position(of timecode: WallTime) -> TimeSpan? {
        state.withLock { $0.presentation.clock.position(of: timecode) }
    }

    public var lastFrame: VideoFrame? { state.withLock { $0.lastFrame } }

    public var bufferedPosition: TimeSpan? {
        let decoded = state.withLock { state in
            state.presentation.phase == .showing ? state.presentation.available : nil
        }
        guard let loaded = content.bufferedPosition else { return decoded }
        return max(loaded, decoded ?? loaded)
    }

    /// What was shown since the beginning.
    public var statistics: PresentationStatistics { state.withLock { $0.presentation.statistics } }

    // MARK: Commands

    public func play() { command { $0.play(at: $1) } }

    public func pause() { command { $0.pause(at: $1) } }

    public func setRate(_ rate: Double) { command { $0.setRate(rate, at: $1) } }

    @discardableResult
    public func seek(to position: TimeSpan) -> PlayheadEpoch {
        let (epoch, isOnItsWay) = command { presentation, now in
            let epoch = presentation.seek(to: position, at: now)
            return (epoch, presentation.pendingSeek != nil && presentation.isOpen)
        }
        if isOnItsWay { content.interrupt() }
        return epoch
    }

    @discardableResult
    public func seek(to wallTime: WallTime) -> PlayheadEpoch? {
        let epoch = command { presentation, now in presentation.seek(to: wallTime, at: now) }
        if epoch != nil { content.interrupt() }
        return epoch
    }

    public func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) {
        let isOpen = command { presentation, now in
            presentation.select(track, of: kind, at: now)
            return presentation.isOpen
        }
        if isOpen { content.interrupt() }
    }

    public var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set { setLoudness { $0.isMuted = newValue } }
    }

    public var volume: Double {
        get { state.withLock { $0.volume } }
        set { setLoudness { $0.volume = min(max(newValue, 0), 1) } }
    }

    private func setLoudness(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            sound.volume = state.isMuted ? 0 : state.volume
        }
    }

    private func command<Result: Sendable>(_ body: (inout MediaPresentation, Instant) -> Result) -> Result {
        let result = state.withLock { body(&$0.presentation, MonotonicClock.now()) }
        readerSignal.raise()
        presenterSignal.raise()
        return result
    }

    // MARK: The reader

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

    /// Nil when it is over.
    private func nextTask() -> MediaPresentation.ReaderTask? {
        state.withLock { state in
            if state.isStopped { return nil }
            let task = state.presentation.readerTask()
            state.isReaderResting = task == .rest
            return task
        }
    }

    private func perform(_ task: MediaPresentation.ReaderTask) throws(PlaybackError) {
        switch task {
        case .rest: readerSignal.wait(until: nil)
        case .open:
            let position = try content.open()
            guard let overview = content.overview else {
                throw PlaybackError.notPlayable("", reason: "nothing is known of it")
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
                let place = try content.seek(to: position)
                change { presentation, _ in presentation.sought(to: place, of: epoch) }
            } catch .notSeekable {
                change { presentation, _ in presentation.couldNotSeek(of: epoch) }
            }
        case .read(let epoch):
            let item = try content.read()
            change { presentation, now in
                guard let item else { return presentation.reachedEnd(of: epoch, at: now) }
                presentation.take(item, of: epoch, at: now)
            }
        }
    }

    /// Changes what is to be shown, and wakes the presenter if there is something to be done sooner than it knows.
    private func change(_ body: (inout MediaPresentation, Instant) -> Void) {
        let wakes = state.withLock { state in
            let now = MonotonicClock.now()
            body(&state.presentation, now)
            guard state.isPresenterAsleep, let deadline = state.presentation.deadline(at: now) else { return false }
            return state.sleepEnd.map { deadline < $0 } ?? true
        }
        if wakes { presenterSignal.raise() }
    }

    // MARK: The presenter

    private func present() {
        var nextLook: Instant?
        while true {
            let lead = sound.lead
            let loaded = content.bufferedPosition
            let output = state.withLock { state -> MediaPresentation.Output? in
                guard !state.isStopped else { return nil }
                state.presentation.soundLead = lead
                state.presentation.loaded = loaded
                return state.presentation.poll(at: MonotonicClock.now())
            }
            if let output {
                perform(output)
                continue
            }
            look(&nextLook)
            guard sleep(until: nextLook) else { return }
        }
    }

    private func perform(_ output: MediaPresentation.Output) {
        switch output {
        case .show(let frame):
            state.withLock { $0.lastFrame = frame }
            onFrame(frame)
        case .hear(let frame, let due): sound.present(frame, at: due)
        case .withdrawSound: sound.withdraw()
        case .event(let event): onEvent(event)
        case .interruptReader: content.interrupt()
        }
    }

    /// Live media change while nothing of them is read.
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

    /// Sleeps until something is due, and wakes the reader before that if there is room again. Answers false when it is over.
    private func sleep(until look: Instant?) -> Bool {
        let (deadline, wakesReader, isStopped) = state.withLock { state in
            let now = MonotonicClock.now()
            let deadline = state.presentation.deadline(at: now).map { max($0, now + Self.leastSleep) }
            state.sleepEnd = Instant.earlier(deadline, look)
            state.isPresenterAsleep = true
            let wakesReader = state.isReaderResting && state.presentation.hasWork
            if wakesReader { state.isReaderResting = false }
            return (state.sleepEnd, wakesReader, state.isStopped)
        }
        if wakesReader { readerSignal.raise() }
        if isStopped { return false }
        presenterSignal.wait(until: deadline)
        return state.withLock { state in
            state.isPresenterAsleep = false
            return !state.isStopped
        }
    }
}
