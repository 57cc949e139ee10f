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
