public import PCastMedia

/// Extends the 24-bit reference times of transport-wide feedback, which wrap after 12.4 days, to the receiver's own
/// time line.
public struct ReferenceTimeUnwrapper: Sendable {
    private var last: Int64?
    private static let limit: UInt64 = 1 << 30

    public init() {}

    /// The receiver's time that the message's arrivals count from; only differences mean anything.
    public mutating func unwrap(_ referenceTime: Int32) -> TimeSpan {
        var unwrapped = Int64(referenceTime)
        if let last {
            let step = (Int32(truncatingIfNeeded: Int64(referenceTime) &- last) << 8) >> 8
            unwrapped = last &+ Int64(step)
        }
        // Two years: no call comes here, and a clock that leaps on and on begins again before it fits 64 bits no more.
        if unwrapped.magnitude > Self.limit { unwrapped = Int64(referenceTime) }
        last = unwrapped
        return .milliseconds(unwrapped &* 64)
    }
}
