/// Extends the 32-bit timestamps of one RTP stream to 64 bits that do not wrap: 90 kHz wraps after 13.26 hours.
///
/// A timestamp is placed nearest to the one before it. Its low 32 bits stay what the packet carries.
public struct TimestampUnwrapper: Sendable {
    /// Added to the first timestamp, so that earlier ones stay positive; a multiple of 2^32.
    public static let origin: Int64 = 1 << 32

    /// The timestamp unwrapped last, nil before the first.
    public private(set) var last: Int64?

    public init() {}

    /// The place of `timestamp` near the last one, which it becomes.
    public mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        let unwrapped = peek(timestamp)
        last = unwrapped
        return unwrapped
    }

    /// What `unwrap` would give, leaving the state alone.
    public func peek(_ timestamp: UInt32) -> Int64 {
        guard let last else { return Self.origin + Int64(timestamp) }
        let step = Int32(truncatingIfNeeded: Int64(timestamp) &- last)
        return last &+ Int64(step)
    }
}
