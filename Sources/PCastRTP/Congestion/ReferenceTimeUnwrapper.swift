package import PCastCore

/// Extends the 24-bit reference times of transport-wide feedback, which wrap around after 12.4 days, to a continuous
/// time of the receiver.
package struct ReferenceTimeUnwrapper: Sendable {
    /// The last time in units of 64 ms; nil before the first.
    private var last: Int64?
    /// The maximum absolute value, about two years.
    private static let limit: UInt64 = 1 << 30

    /// Creates an unwrapper without a reference.
    package init() {}

    /// Returns the receiver's time from which the arrivals of a message count. Only differences of these times have a
    /// meaning.
    package mutating func unwrap(_ referenceTime: Int32) -> TimeSpan {
        var unwrapped = Int64(referenceTime)
        if let last {
            let step = (Int32(truncatingIfNeeded: Int64(referenceTime) &- last) << 8) >> 8
            unwrapped = last &+ Int64(step)
        }
        // A clock that steps on and on starts again from the value of the message, before it exceeds 64 bits.
        if unwrapped.magnitude > Self.limit { unwrapped = Int64(referenceTime) }
        last = unwrapped
        return .milliseconds(unwrapped &* 64)
    }
}
