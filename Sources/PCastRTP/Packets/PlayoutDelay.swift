public import PCastMedia

/// The bounds that a sender sets to the receiver's buffering (WebRTC's playout-delay header extension).
public struct PlayoutDelay: Hashable, Sendable {
    /// 24 bits: twelve of minimum and twelve of maximum, in units of 10 ms.
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// The longest that the twelve bits hold.
    public static let longest = TimeSpan.milliseconds(0xFFF * 10)

    /// Rounds down to 10 ms and bounds both to 0...40.95 s.
    public init(minimum: TimeSpan, maximum: TimeSpan) {
        rawValue = Self.units(minimum) << 12 | Self.units(maximum)
    }

    public var minimum: TimeSpan { .milliseconds(Int64(rawValue >> 12) * 10) }
    public var maximum: TimeSpan { .milliseconds(Int64(rawValue & 0xFFF) * 10) }

    private static func units(_ span: TimeSpan) -> UInt32 {
        UInt32(min(max(span.nanoseconds / 10_000_000, 0), 0xFFF))
    }
}
