/// One moment read on both clocks, by which a machine that is told instants can write UTC into sender reports.
public struct WallClockReference: Hashable, Sendable {
    public var instant: Instant
    public var wallTime: WallTime

    public init(instant: Instant, wallTime: WallTime) {
        self.instant = instant
        self.wallTime = wallTime
    }

    public func wallTime(at instant: Instant) -> WallTime { wallTime + (instant - self.instant) }

    public func instant(at wallTime: WallTime) -> Instant { instant + (wallTime - self.wallTime) }
}
