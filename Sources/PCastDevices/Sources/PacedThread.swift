import PCastCore
import PCastIO
import Synchronization

/// A thread that calls a function at even times of the monotonic clock.
final class PacedThread: Sendable {
    private let sleep = CancellableSleep()
    private let thread = Mutex<WorkerThread?>(nil)

    deinit { stop() }

    /// Starts the thread. `due` returns the time of a call after `origin` by its number. A call that is late by more
    /// than `timeout` is skipped. Throws `DeviceError.noThread`.
    func start(
        name: String, from origin: Instant, due: @escaping @Sendable (Int64) -> TimeSpan, timeout: TimeSpan,
        body: @escaping @Sendable (_ frameIndex: Int64, _ due: TimeSpan) -> Void
    ) throws(DeviceError) {
        let sleep = sleep
        do {
            let worker = try WorkerThread(name: name, precedence: .media) {
                var frameIndex: Int64 = 0
                while sleep.sleep(until: origin + due(frameIndex)) {
                    if MonotonicClock.now() - origin - due(frameIndex) < timeout { body(frameIndex, due(frameIndex)) }
                    frameIndex += 1
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
