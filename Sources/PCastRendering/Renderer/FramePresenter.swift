import PCastCore
import PCastIO

/// Presents decoded frames at their presentation time. It has its own thread, so that decoding continues meanwhile.
final class FramePresenter: Sendable {
    private struct Entry: Sendable {
        let frame: VideoFrame
        let due: Instant
    }

    /// The most frames that are queued, more than half a second. A longer wait is not lip sync.
    private static let capacity = 32

    /// The lateness at which a frame is dropped if the next one is queued.
    private static let timeout = TimeSpan.milliseconds(50)

    private let queue = FrameQueue<Entry>(capacity: FramePresenter.capacity)
    private let sleep = CancellableSleep()
    private let thread: WorkerThread

    /// Starts the thread. `dropped` is called for each frame that is dropped. Throws `IOError` if no thread can be
    /// created.
    init(screen: VideoScreen, dropped: @escaping @Sendable () -> Void) throws(IOError) {
        let (queue, sleep) = (queue, sleep)
        thread = try WorkerThread(name: "present-video", precedence: .media) {
            while let entry = queue.pop() {
                guard sleep.sleep(until: entry.due) else { return }
                let lateness = MonotonicClock.now() - entry.due
                if lateness > Self.timeout, queue.count > 0 {
                    dropped()
                } else {
                    screen.show(entry.frame)
                }
            }
        }
    }

    /// Queues a frame. Returns false if an older frame was dropped for it.
    func present(_ frame: VideoFrame, at due: Instant) -> Bool {
        queue.push(Entry(frame: frame, due: due)) == nil
    }

    func stop() {
        sleep.cancel()
        queue.close()
        thread.join()
    }
}
