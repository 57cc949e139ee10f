public import PCastMedia

/// A time in 1/65536 s, as RTCP counts delays: the middle 32 bits of an NTP timestamp (RFC 3550, section 4).
public struct CompactTime: Hashable, Sendable {
    public var rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The time of day, modulo 18.2 hours.
    public init(_ time: WallTime) { rawValue = UInt32(truncatingIfNeeded: time.ntpTimestamp >> 16) }

    /// A delay, rounded down and bounded to what 32 bits hold.
    public init(_ span: TimeSpan) {
        let (seconds, rest) = max(span, .zero).nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        rawValue = UInt32(clamping: seconds << 16 | (rest << 16) / 1_000_000_000)
    }
}
