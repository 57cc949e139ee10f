/// Extends the 32-bit timestamps of an RTP stream to 64 bits without wraparound, which happens after 13.26 hours at 90
/// kHz.
///
/// A timestamp is assumed to be the nearest one to the timestamp before. The low 32 bits are the original timestamp.
package struct TimestampUnwrapper: Sendable {
    /// The value that is added to the first timestamp, so that preceding timestamps are positive; a multiple of 2^32.
    package static let origin: Int64 = 1 << 32

    /// The last result; nil before the first.
    package private(set) var last: Int64?

    /// Creates an unwrapper without a reference.
    package init() {}

    /// Extends a timestamp, which becomes the reference for the next one.
    package mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        let unwrapped = peek(timestamp)
        last = unwrapped
        return unwrapped
    }

    /// Extends a timestamp without changing the reference.
    package func peek(_ timestamp: UInt32) -> Int64 {
        guard let last else { return Self.origin + Int64(timestamp) }
        let step = Int32(truncatingIfNeeded: Int64(timestamp) &- last)
        return last &+ Int64(step)
    }
}
