/// Finds lost pictures by the numbers that drivers give them.
struct CaptureSequence {
    /// A larger step is a counter that was set, and not that many lost pictures.
    private static let limit: UInt32 = 1_000

    private var last: UInt32?

    /// Pictures between this one and the one before.
    mutating func gap(before number: UInt32) -> Int {
        defer { last = number }
        guard let last else { return 0 }
        let step = number &- last
        // Drivers that do not count give every picture the same number.
        return (2...Self.limit).contains(step) ? Int(step) - 1 : 0
    }

    /// Streaming begins anew, and the counting with it.
    mutating func restart() { last = nil }
}
