import PCastIO
import PCastMedia
import Synchronization

/// The place of a track's source, which outlives the source: another can be put in while the track runs, and what
/// stands in for a device that was unplugged keeps the track alive until it is back.
///
/// Samples are delivered one at a time, whichever source they come from, and none of a source that was replaced.
final class SourceSlot<Sample: Sendable>: Sendable {
    typealias Source = any MediaSource<Sample>
    typealias Opening = @Sendable () throws(DeviceError) -> Source

    /// What is delivered while the device is away.
    struct StandIn: Sendable {
        /// From one sample to the next.
        var interval: TimeSpan
        var sample: @Sendable (WallTime) -> Sample
    }

    private enum Phase {
        case idle
        case running
        /// The device is gone, and waited for.
        case absent(WorkerThread, CancellableSleep)
        /// The device was given back on purpose.
        case resting
        case over
    }

    private struct State {
        var phase = Phase.idle
        var source: Source?
        var opening: Opening
        /// Which source is listened to, by its number: what an earlier one still delivers is not wanted. Negative for none.
        var generation = 0
        var lastGeneration = 0
        /// A source is starting to take over; how it ended meanwhile, if it did.
        var isTaking = false
        var endedWhileTaking: SourceEnd?
        var deliver: (@Sendable (Sample) -> Void)?
        var ended: (@Sendable (SourceEnd) -> Void)?
    }

    /// Between looks for a device that is away; opening it is the only sure sign that it is back.
    private static var retryInterval: TimeSpan { .milliseconds(250) }

    private let name: String
    private let patience: TimeSpan
    private let standIn: @Sendable () -> StandIn
    private let state: Mutex<State>
    private let delivery = Mutex(())
    /// Held by whoever opens and closes devices, which takes its time.
    private let operations = Mutex(())

    /// - Parameters:
    ///   - source: opened, not started.
    ///   - opening: opens the same source again.
    ///   - patience: how long a device may be away before the track fails.
    ///   - standIn: asked when the device has gone.
    init(
        name: String, source: Source, patience: TimeSpan, opening: @escaping Opening,
        standIn: @escaping @Sendable () -> StandIn
    ) {
        self.name = name
        self.patience = patience
        self.standIn = standIn
        state = Mutex(State(source: source, opening: opening))
    }

    deinit { stop() }

    /// Whether the device is open at this moment.
    var isOpen: Bool { state.withLock { $0.generation >= 0 } }

    func start(
        deliver: @escaping @Sendable (Sample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (source, generation) = state.withLock { state -> (Source?, Int) in
            guard case .idle = state.phase else { return (nil, 0) }
            state.phase = state.source == nil ? .resting : .running
            state.deliver = deliver
            state.ended = ended
            return (state.source, state.generation)
        }
        guard let source else { return }
        try begin(source, generation: generation)
    }

    /// Ends delivery and gives the device back; harmless when called again, and from a delivery.
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

    // MARK: Changes while it runs

    /// Puts another source in. The track goes on with it, or as before when it cannot be opened.
    ///
    /// - Parameter isSameDevice: the old one must be given back first, since a device is opened once.
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

    /// Lets a source take over from whatever delivers. When it cannot start, all stays as it was.
    private func put(_ source: Source, _ opening: @escaping Opening) throws(DeviceError) {
        let (generation, before, phase) = state.withLock { state in
            let before = state.generation
            state.lastGeneration += 1
            switch state.phase {
            case .running, .absent:
                state.generation = state.lastGeneration
                state.isTaking = true
            case .idle, .resting, .over: break
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
                    state.isTaking = false
                    state.endedWhileTaking = nil
                }
                source.stop()
                throw error
            }
        case .idle: break
        case .resting, .over: isWanted = false
        }
        let (former, end) = state.withLock { state -> (Source?, SourceEnd?) in
            state.opening = opening
            state.isTaking = false
            if case .over = state.phase { isWanted = false }
            guard isWanted else { return (nil, nil) }
            defer {
                state.source = source
                state.endedWhileTaking = nil
            }
            state.generation = generation
            if case .absent = state.phase { state.phase = .running }
            return (state.source, state.endedWhileTaking)
        }
        if case .absent(_, let sleep) = phase { sleep.cancel() }
        if !isWanted { source.stop() }
        former?.stop()
        if let end { sourceEnded(end, generation) }
    }

    /// Gives the device back until `resume`.
    func rest() {
        operations.withLock { _ in
            let (source, phase) = state.withLock { state -> (Source?, Phase) in
                let phase = state.phase
                switch phase {
                case .running, .absent: state.phase = .resting
                case .idle: break
                case .resting, .over: return (nil, phase)
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

    /// Opens the device again. What stands in for it is delivered while that does not succeed.
    func resume() {
        operations.withLock { _ in
            let opening = state.withLock { state -> Opening? in
                switch state.phase {
                case .resting: state.opening
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

    private func wake() { state.withLock { if case .resting = $0.phase { $0.phase = .running } } }

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
            if state.isTaking { state.endedWhileTaking = end }
            return !state.isTaking
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

    // MARK: Absence

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

    /// The body of the thread that stands in for the device and looks for it.
    private func wait(_ sleep: CancellableSleep, _ reason: String) {
        let standIn = standIn()
        let began = MonotonicClock.now()
        var beat = began
        var nextLook = began + Self.retryInterval
        while sleep.sleep(until: beat) {
            let now = MonotonicClock.reference()
            deliverStandIn(standIn.sample(now.wallTime), unless: sleep)
            if now.instant >= nextLook {
                nextLook = now.instant + Self.retryInterval
                if isBack() { return }
            }
            if now.instant - began > patience {
                return finish(.failed("\(reason), and it did not come back within \(patience)"))
            }
            beat = beat + standIn.interval
        }
    }

    private func deliverStandIn(_ sample: Sample, unless sleep: CancellableSleep) {
        delivery.withLock { _ in
            let deliver = state.withLock { state -> (@Sendable (Sample) -> Void)? in
                guard case .absent(_, let current) = state.phase, current === sleep else { return nil }
                return state.deliver
            }
            deliver?(sample)
        }
    }

    /// Tries to open the device, unless somebody changes the slot at this moment.
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
