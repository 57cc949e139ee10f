import PCastIO
import PCastMedia
import Synchronization

/// When the frames of a file are due: one start for picture and sound, moved only when reading cannot keep up.
final class ReleaseClock: Sendable {
    /// A source that is later than this plays on from where it is instead of hurrying after.
    private static let patience = TimeSpan.milliseconds(500)

    private let origin = Mutex(MonotonicClock.reference())

    /// Makes position zero due after `lead`, in which frames are read ahead.
    func begin(after lead: TimeSpan) {
        let now = MonotonicClock.reference()
        origin.withLock { $0 = WallClockReference(instant: now.instant + lead, wallTime: now.wallTime + lead) }
    }

    /// When a position is due, on both clocks.
    func due(_ position: TimeSpan) -> WallClockReference {
        origin.withLock {
            WallClockReference(instant: $0.instant + position, wallTime: $0.wallTime + position)
        }
    }

    /// Moves the whole source when a frame comes too late, so that both tracks stay together.
    func slip(_ position: TimeSpan, readAt now: Instant) {
        origin.withLock { origin in
            let lateness = now - (origin.instant + position)
            guard lateness > Self.patience else { return }
            origin = WallClockReference(instant: origin.instant + lateness, wallTime: origin.wallTime + lateness)
        }
    }
}
