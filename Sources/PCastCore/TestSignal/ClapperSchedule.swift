/// The schedule of the tone and disc of the test signal: the first 100 ms of each UTC second.
package enum ClapperSchedule {
    /// The duration of the tone and the disc.
    package static let length = TimeSpan.milliseconds(100)

    /// The frequency of the tone in hertz.
    package static let frequency = 1_000

    /// Returns whether the tone and the disc are present at a time.
    package static func isClapping(at time: WallTime) -> Bool { time - second(of: time) < length }

    /// Returns the beginning of the UTC second that contains a time.
    package static func second(of time: WallTime) -> WallTime {
        let billion: Int64 = 1_000_000_000
        let rest = (time.nanosecondsSinceEpoch % billion + billion) % billion
        return time - .nanoseconds(rest)
    }
}
