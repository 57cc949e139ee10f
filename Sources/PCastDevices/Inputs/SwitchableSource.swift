import PCastCore
import PCastIO
import Synchronization

/// A replaceable source of a track. Another source can take over while the track runs. While a device is disconnected,
/// substitute samples keep the track alive.
///
/// Samples are delivered one at a time, whichever source they come from, and never from a source that was replaced.
final class SwitchableSource<Sample: Sendable>: Sendable {
    typealias Source = any MediaSource<Sample>
    typealias Opening = @Sendable () throws(DeviceError) -> Source

    /// The substitute samples while the device is disconnected.
    struct SubstituteSample: Sendable {
        /// The interval between samples.
        var interval: TimeSpan
        var sample: @Sendable (WallTime) -> Sample
    }

    private enum Phase {
        case idle
        case running
        /// The device is disconnected and awaited.
        case absent(WorkerThread, CancellableSleep)
        /// The device was released deliberately.
        case released
        case over
    }

    private struct State {
        var phase = Phase.idle
        var source: Source?
        var opening: Opening
        /// The number of the source whose samples are delivered; samples of earlier sources are ignored. Negative for
        /// none.
        var generation = 0
        var lastGeneration = 0
        /// Whether a source is about to take over, and its end if it ended meanwhile.
        var isSwitching = false
        var endedWhileSwitching: SourceEnd?
        var deliver: (@Sendable (Sample) -> Void)?
        var ended: (@Sendable (SourceEnd) -> Void)?
    }

    /// The interval at which a disconnected device is tried. Opening it is the only reliable sign that it is back.
    private static var retryInterval: TimeSpan { .milliseconds(250) }

    private let name: String
    private let timeout: TimeSpan
    private let substitute: @Sendable () -> SubstituteSample
    private let state: Mutex<State>
    private let delivery = Mutex(())
    /// The lock for opening and closing devices, which takes time.
    private let operations = Mutex(())

    /// Creates a replaceable source from a source that is open but not started. `opening` opens the same source again. `timeout` is
    /// the time for which a disconnected device is awaited. `substitute` returns the substitute samples.
    init(
        name: String, source: Source, timeout: TimeSpan, opening: @escaping Opening,
        substitute: @escaping @Sendable () -> SubstituteSample
    ) {
        self.name = name
        self.timeout = timeout
        self.substitute = substitute
        state = Mutex(State(source: source, opening: opening))
    }

    deinit { stop() }

    /// Whether the device is open.
    var isOpen: Bool { state.withLock { $0.generation >= 0 } }

    func start(
        deliver: @escaping @Sendable (Sample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (source, generation) = state.withLock { state -> (Source?, Int) in
            guard case .idle = state.phase else { return (nil, 0) }
            state.phase = state.source == nil ? .released : .running
            state.deliver = deliver
            state.ended = ended
            return (state.source, state.generation)
        }
        guard let source else { return }
        try begin(source, generation: generation)
    }

    /// Stops delivery and releases the device. It may be called repeatedly and from a delivery.
    func stop() {
        let (source, phase) = state.withLock { state in
            defer {
                state.phase = .over
                state.source = nil
                state.generation = -1
            }
            return (state.source, state.phase)
        }
        if case .absent(let worker, let sleep) = phase {
            sleep.cancel()
            worker.join()
        }
        source?.stop()
    }

    // MARK: Changes

    /// Replaces the source. If the new one cannot be opened, the previous one continues. With `isSameDevice`, the
    /// previous source is closed first, because a device can be opened only once. Throws `DeviceError`.
    func replace(isSameDevice: Bool, opening: @escaping Opening) throws(DeviceError) {
        try operations.withLock { _ throws(DeviceError) in
            if isSameDevice { try reopen(with: opening) } else { try put(try opening(), opening) }
        }
    }

    private func reopen(with opening: @escaping Opening) throws(DeviceError) {
        let (source, former) = state.withLock { state in
            defer { state.source = nil }
            return (state.source, state.opening)
        }
        source?.stop()
        do throws(DeviceError) {
            try put(try opening(), opening)
        } catch {
            guard source != nil else { throw error }
            do throws(DeviceError) { try put(try former(), former) } catch { vanished("\(error)") }
            throw error
        }
    }

    /// Lets a source take over. If it does not start, nothing changes.
    private func put(_ source: Source, _ opening: @escaping Opening) throws(DeviceError) {
        let (generation, before, phase) = state.withLock { state in
            let before = state.generation
            state.lastGeneration += 1
            switch state.phase {
            case .running, .absent:
                state.generation = state.lastGeneration
                state.isSwitching = true
            case .idle, .released, .over: break
            }
            return (state.lastGeneration, before, state.phase)
        }
        var isWanted = true
        switch phase {
        case .running, .absent:
            do throws(DeviceError) {
                try begin(source, generation: generation)
            } catch {
                state.withLock { state in
                    if state.generation == generation { state.generation = before }
                    state.isSwitching = false
                    state.endedWhileSwitching = nil
                }
                source.stop()
                throw error
            }
        case .idle: break
        case .released, .over: isWanted = false
        }
        let (former, end) = state.withLock { state -> (Source?, SourceEnd?) in
            state.opening = opening
            state.isSwitching = false
            if case .over = state.phase { isWanted = false }
            guard isWanted else { return (nil, nil) }
            defer {
                state.source = source
                state.endedWhileSwitching = nil
            }
            state.generation = generation
            if case .absent = state.phase { state.phase = .running }
            return (state.source, state.endedWhileSwitching)
        }
        if case .absent(_, let sleep) = phase { sleep.cancel() }
        if !isWanted { source.stop() }
        former?.stop()
        if let end { sourceEnded(end, generation) }
    }

    /// Releases the device until `resume`.
    func rest() {
        operations.withLock { _ in
            let (source, phase) = state.withLock { state -> (Source?, Phase) in
                let phase = state.phase
                switch phase {
                case .running, .absent: state.phase = .released
                case .idle: break
                case .released, .over: return (nil, phase)
                }
                defer { state.source = nil }
                state.generation = -1
                return (state.source, phase)
            }
            if case .absent(let worker, let sleep) = phase {
                sleep.cancel()
                worker.join()
            }
            source?.stop()
        }
    }

    /// Opens the device again. Substitute samples are delivered until that succeeds.
    func resume() {
        operations.withLock { _ in
            let opening = state.withLock { state -> Opening? in
                switch state.phase {
                case .released: state.opening
                case .idle: state.source == nil ? state.opening : nil
                case .running, .absent, .over: nil
                }
            }
            guard let opening else { return }
            do throws(DeviceError) {
                let source = try opening()
                wake()
                try put(source, opening)
            } catch {
                wake()
                vanished("\(error)")
            }
        }
    }

    private func wake() { state.withLock { if case .released = $0.phase { $0.phase = .running } } }

    // MARK: The source

    private func begin(_ source: Source, generation: Int) throws(DeviceError) {
        try source.start(
            deliver: { [weak self] in self?.received($0, from: generation) },
            ended: { [weak self] in self?.sourceEnded($0, generation) })
    }

    private func received(_ sample: Sample, from generation: Int) {
        delivery.withLock { _ in
            let deliver = state.withLock { state in state.generation == generation ? state.deliver : nil }
            deliver?(sample)
        }
    }

    private func sourceEnded(_ end: SourceEnd, _ generation: Int) {
        let isNow = state.withLock { state in
            guard state.generation == generation else { return false }
            if state.isSwitching { state.endedWhileSwitching = end }
            return !state.isSwitching
        }
        guard isNow else { return }
        switch end {
        case .vanished(let reason): vanished(reason)
        case .ended, .failed: finish(end)
        }
    }

    private func finish(_ end: SourceEnd) {
        let ended = state.withLock { state -> (@Sendable (SourceEnd) -> Void)? in
            if case .over = state.phase { return nil }
            state.phase = .over
            state.generation = -1
            return state.ended
        }
        ended?(end)
    }

    // MARK: Disconnection

    private func vanished(_ reason: String) {
        let sleep = CancellableSleep()
        let source = state.withLock { state -> Source? in
            defer { state.source = nil }
            state.generation = -1
            return state.source
        }
        source?.stop()
        do {
            let worker = try WorkerThread(name: "\(name)-away") { [weak self] in self?.wait(sleep, reason) }
            let isWanted = state.withLock { state in
                guard case .running = state.phase else { return false }
                state.phase = .absent(worker, sleep)
                return true
            }
            if !isWanted { sleep.cancel() }
        } catch {
            finish(.failed("\(reason), and \(error)"))
        }
    }

    /// Delivers substitute samples and tries to open the device. It is the body of a thread.
    private func wait(_ sleep: CancellableSleep, _ reason: String) {
        let substitute = substitute()
        let began = MonotonicClock.now()
        var frameIndex = began
        var nextCheck = began + Self.retryInterval
        while sleep.sleep(until: frameIndex) {
            let now = MonotonicClock.reference()
            deliverSubstitute(substitute.sample(now.wallTime), unless: sleep)
            if now.instant >= nextCheck {
                nextCheck = now.instant + Self.retryInterval
                if isBack() { return }
            }
            if now.instant - began > timeout {
                return finish(.failed("\(reason), and it did not return within \(timeout)"))
            }
            frameIndex = frameIndex + substitute.interval
        }
    }

    private func deliverSubstitute(_ sample: Sample, unless sleep: CancellableSleep) {
        delivery.withLock { _ in
            let deliver = state.withLock { state -> (@Sendable (Sample) -> Void)? in
                guard case .absent(_, let current) = state.phase, current === sleep else { return nil }
                return state.deliver
            }
            deliver?(sample)
        }
    }

    /// Tries to open the device, unless the slot is being changed. Returns whether it is back.
    private func isBack() -> Bool {
        operations.withLockIfAvailable { _ in
            let opening = state.withLock { state -> Opening? in
                if case .absent = state.phase { state.opening } else { nil }
            }
            guard let opening, let source = try? opening() else { return false }
            return (try? put(source, opening)) != nil
        } ?? false
    }
}
