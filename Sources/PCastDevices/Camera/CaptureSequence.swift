/// Detects lost frames by the driver's sequence numbers.
struct CaptureSequence {
    /// The largest gap. A larger one is a counter that was reset.
    private static let limit: UInt32 = 1_000

    private var last: UInt32?

    /// Returns the number of frames that are missing before this one.
    mutating func gap(before number: UInt32) -> Int {
        defer { last = number }
        guard let last else { return 0 }
        let step = number &- last
        // Some drivers give every frame the same number.
        return (2...Self.limit).contains(step) ? Int(step) - 1 : 0
    }

    /// Resets the detection before streaming restarts.
    mutating func restart() { last = nil }
}
