import PCastIO
import PCastMedia
import Synchronization

/// A thread that runs a body at even moments on the monotonic clock, each told its number and when it was due.
final class PacedThread: Sendable {
    private let sleep = CancellableSleep()
    private let thread = Mutex<WorkerThread?>(nil)

    deinit { stop() }

    /// - Parameters:
    ///   - origin: the moment from which beats are counted.
    ///   - due: how long after the origin a beat is due.
    ///   - body: makes one beat. A beat that is more than `patience` late is left out, its number too.
    func start(
        name: String, from origin: Instant, due: @escaping @Sendable (Int64) -> TimeSpan, patience: TimeSpan,
        body: @escaping @Sendable (_ beat: Int64, _ due: TimeSpan) -> Void
    ) throws(DeviceError) {
        let sleep = sleep
        do {
            let worker = try WorkerThread(name: name, precedence: .media) {
                var beat: Int64 = 0
                while sleep.sleep(until: origin + due(beat)) {
                    if MonotonicClock.now() - origin - due(beat) < patience { body(beat, due(beat)) }
                    beat += 1
                }
            }
            thread.withLock { $0 = worker }
        } catch {
            throw .noThread("\(error)")
        }
    }

    func stop() {
        sleep.cancel()
        let worker = thread.withLock { $0 }
        worker?.join()
    }
}
