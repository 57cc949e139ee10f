/// The same moment on the monotonic and the wall clock. With it, a machine computes UTC times for sender reports.
public struct WallClockReference: Hashable, Sendable {
    /// The moment on the monotonic clock.
    public var instant: Instant
    /// The moment on the wall clock.
    public var wallTime: WallTime

    /// Creates a reference from the readings of both clocks.
    public init(instant: Instant, wallTime: WallTime) {
        self.instant = instant
        self.wallTime = wallTime
    }

    /// Returns the wall-clock time of an instant.
    public func wallTime(at instant: Instant) -> WallTime { wallTime + (instant - self.instant) }

    /// Returns the instant of a wall-clock time.
    public func instant(at wallTime: WallTime) -> Instant { instant + (wallTime - self.wallTime) }
}
