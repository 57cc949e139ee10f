public import PCastMedia

/// When a packet left, in seconds modulo 64 with 18 bits of fraction (WebRTC's abs-send-time header extension).
public struct AbsoluteSendTime: Hashable, Sendable {
    /// 24 bits.
    public var rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// Only differences mean anything, so the monotonic clock serves as well as any.
    public init(_ instant: Instant) { self.init(nanoseconds: instant.nanoseconds) }

    public init(_ time: WallTime) { self.init(nanoseconds: time.nanosecondsSinceEpoch) }

    private init(nanoseconds: Int64) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let units = seconds &<< 18 &+ (rest << 18) / 1_000_000_000
        self.init(rawValue: UInt32(truncatingIfNeeded: units))
    }

    /// The time from `earlier` to this, taken as the nearer way round the 64 seconds.
    public func since(_ earlier: AbsoluteSendTime) -> TimeSpan {
        let difference = Int32(bitPattern: (rawValue &- earlier.rawValue) << 8) >> 8
        return .nanoseconds((Int64(difference) * 1_000_000_000) >> 18)
    }
}
