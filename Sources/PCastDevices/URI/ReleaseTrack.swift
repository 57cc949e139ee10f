import PCastCore
import PCastIO
import Synchronization

/// A track of a file: frames that were read ahead, and a thread that delivers each at its time.
final class ReleaseTrack<Frame: Sendable>: Sendable {
    /// A frame and its position.
    private struct Entry: Sendable {
        let frame: Frame
        let position: TimeSpan
    }

    private struct State {
        var worker: WorkerThread?
        var end: SourceEnd?
        var isStarted = false
        var isStopped = false
    }

    /// The most frames that are read ahead. The reader stops well below.
    private static var capacity: Int { 128 }

    private let queue = FrameQueue<Entry>(capacity: ReleaseTrack.capacity)
    private let sleep = CancellableSleep()
    private let state = Mutex(State())
    private let name: String

    init(name: String) { self.name = name }

    var isStarted: Bool { state.withLock { $0.isStarted } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Whether this track allows reading to start.
    var isReady: Bool { state.withLock { $0.isStarted || $0.isStopped } }

    /// Whether the queue is nearly full.
    var isNearlyFull: Bool { queue.count >= Self.capacity * 3 / 4 }

    func push(_ frame: Frame, at position: TimeSpan) { queue.push(Entry(frame: frame, position: position)) }

    /// Delivers the queued frames, then reports the end.
    func finish(_ end: SourceEnd) {
        state.withLock { $0.end = $0.isStopped ? nil : end }
        queue.close()
    }

    /// Starts the thread. `release` receives each frame at its time, with that time in UTC and its position. Throws
    /// `IOError`.
    func run(
        clock: ReleaseClock, release: @escaping @Sendable (Frame, WallTime, TimeSpan) -> Void,
        ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(IOError) {
        let worker = try WorkerThread(name: name, precedence: .media) { [self] in
            while let entry = queue.pop() {
                guard sleep.sleep(until: clock.due(entry.position).instant) else { return }
                release(entry.frame, clock.due(entry.position).wallTime, entry.position)
            }
            if let end = state.withLock({ $0.end }) { ended(end) }
        }
        state.withLock { state in
            state.worker = worker
            state.isStarted = true
        }
    }

    func stop() {
        let worker = state.withLock { state in
            state.isStopped = true
            state.end = nil
            return state.worker
        }
        sleep.cancel()
        queue.close()
        worker?.join()
    }
}

/// The schedule of a file's frames, common to video and audio. It moves only if reading cannot keep up.
final class ReleaseClock: Sendable {
    /// The lateness above which playback continues later instead of catching up.
    private static let timeout = TimeSpan.milliseconds(500)

    private let origin = Mutex(MonotonicClock.reference())

    /// Schedules position zero after `lead`, the time for reading ahead.
    func begin(after lead: TimeSpan) {
        let now = MonotonicClock.reference()
        origin.withLock { $0 = WallClockReference(instant: now.instant + lead, wallTime: now.wallTime + lead) }
    }

    /// Returns the time of a position on both clocks.
    func due(_ position: TimeSpan) -> WallClockReference {
        origin.withLock {
            WallClockReference(instant: $0.instant + position, wallTime: $0.wallTime + position)
        }
    }

    /// Delays the whole schedule if a frame is too late, so that both tracks stay in sync.
    func delaySchedule(_ position: TimeSpan, readAt now: Instant) {
        origin.withLock { origin in
            let lateness = now - (origin.instant + position)
            guard lateness > Self.timeout else { return }
            origin = WallClockReference(instant: origin.instant + lateness, wallTime: origin.wallTime + lateness)
        }
    }
}
