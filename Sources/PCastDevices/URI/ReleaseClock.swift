import PCastCore
import PCastIO
import Synchronization

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
