/// When the clapper of the test signal is heard and seen: during the first 100 ms of every UTC second.
public enum ClapperSchedule {
    /// How long the tone sounds and the disc stands.
    public static let length = TimeSpan.milliseconds(100)

    /// The tone's frequency in hertz.
    public static let frequency = 1_000

    public static func isClapping(at time: WallTime) -> Bool { time - second(of: time) < length }

    /// The UTC second that has begun last.
    public static func second(of time: WallTime) -> WallTime {
        let billion: Int64 = 1_000_000_000
        let rest = (time.nanosecondsSinceEpoch % billion + billion) % billion
        return time - .nanoseconds(rest)
    }
}
