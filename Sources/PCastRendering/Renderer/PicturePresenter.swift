import PCastIO
import PCastMedia

/// Holds decoded pictures until they are due: a thread of its own, so that decoding goes on meanwhile.
final class PicturePresenter: Sendable {
    private struct Entry: Sendable {
        let frame: VideoFrame
        let due: Instant
    }

    /// Pictures that wait at most: more than half a second of them is no lip sync.
    private static let capacity = 32

    /// A picture that is this much behind gives way to the next one, if that waits.
    private static let patience = TimeSpan.milliseconds(50)

    private let queue = FrameQueue<Entry>(capacity: PicturePresenter.capacity)
    private let sleep = CancellableSleep()
    private let thread: WorkerThread

    /// - Parameter dropped: is told that a picture was left out.
    init(screen: PictureScreen, dropped: @escaping @Sendable () -> Void) throws(IOError) {
        let (queue, sleep) = (queue, sleep)
        thread = try WorkerThread(name: "present-video", precedence: .media) {
            while let entry = queue.pop() {
                guard sleep.sleep(until: entry.due) else { return }
                let lateness = MonotonicClock.now() - entry.due
                if lateness > Self.patience, queue.count > 0 {
                    dropped()
                } else {
                    screen.show(entry.frame)
                }
            }
        }
    }

    /// Answers false when an older picture had to go.
    func present(_ frame: VideoFrame, at due: Instant) -> Bool {
        queue.push(Entry(frame: frame, due: due)) == nil
    }

    func stop() {
        sleep.cancel()
        queue.close()
        thread.join()
    }
}
