package import PCastCore

/// A time or delay in units of 1/65536 s: the middle 32 bits of an NTP timestamp (RFC 3550, section 4).
package struct CompactTime: Hashable, Sendable {
    /// The value in units of 1/65536 s.
    package var rawValue: UInt32

    /// Creates a time from its value.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates a time from the wall-clock time, modulo 18.2 hours.
    package init(_ time: WallTime) { rawValue = UInt32(truncatingIfNeeded: time.ntpTimestamp >> 16) }

    /// Creates a delay, rounded down and limited to the range of 32 bits.
    package init(_ span: TimeSpan) {
        let (seconds, rest) = max(span, .zero).nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        rawValue = UInt32(clamping: seconds << 16 | (rest << 16) / 1_000_000_000)
    }
}
