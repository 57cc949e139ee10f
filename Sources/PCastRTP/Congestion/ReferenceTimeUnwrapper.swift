public import PCastMedia

/// Extends the 24-bit reference times of transport-wide feedback, which wrap after 12.4 days, to the receiver's own
/// time line.
public struct ReferenceTimeUnwrapper: Sendable {
    private var last: Int64?

    public init() {}

    /// The receiver's time that the message's arrivals count from; only differences mean anything.
    public mutating func unwrap(_ referenceTime: Int32) -> TimeSpan {
        var unwrapped = Int64(referenceTime)
        if let last {
            let step = (Int32(truncatingIfNeeded: Int64(referenceTime) &- last) << 8) >> 8
            unwrapped = last &+ Int64(step)
        }
        last = unwrapped
        return .milliseconds(unwrapped &* 64)
    }
}
