import PCastCore
import PCastIO
import Synchronization

/// The capture time of the first frame of a publication.
final class StreamStart: Sendable {
    /// The time; nil if the publication ended before its first frame.
    let time = Promise<WallTime?>()
    /// Later frames need no lock.
    private let isKnown = Atomic(false)

    /// Records a frame, if it is the first one. A frame without a capture time counts as captured now.
    func note(_ frame: SourceFrame) {
        guard !isKnown.load(ordering: .relaxed) else { return }
        isKnown.store(true, ordering: .relaxed)
        time.resolve(frame.captureTime ?? MonotonicClock.wallTime())
    }

    /// Records the end of the publication.
    func end() { time.resolve(nil) }
}
