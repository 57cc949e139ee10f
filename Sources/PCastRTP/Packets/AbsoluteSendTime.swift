package import PCastCore

/// The send time of a packet in seconds modulo 64, with 18 bits of fraction (WebRTC's abs-send-time header extension).
package struct AbsoluteSendTime: Hashable, Sendable {
    /// The value, 24 bits.
    package var rawValue: UInt32

    /// Creates a send time from the low 24 bits of a value.
    package init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// Creates a send time from a monotonic time. Only differences have a meaning, so any clock is suitable.
    package init(_ instant: Instant) { self.init(nanoseconds: instant.nanoseconds) }

    /// Creates a send time from a wall-clock time.
    package init(_ time: WallTime) { self.init(nanoseconds: time.nanosecondsSinceEpoch) }

    private init(nanoseconds: Int64) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let units = seconds &<< 18 &+ (rest << 18) / 1_000_000_000
        self.init(rawValue: UInt32(truncatingIfNeeded: units))
    }

    /// Returns the time from an earlier send time to this one, between -32 and 32 seconds.
    package func since(_ earlier: AbsoluteSendTime) -> TimeSpan {
        let difference = Int32(bitPattern: (rawValue &- earlier.rawValue) << 8) >> 8
        return .nanoseconds((Int64(difference) * 1_000_000_000) >> 18)
    }
}
