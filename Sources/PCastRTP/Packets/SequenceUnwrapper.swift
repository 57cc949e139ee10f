/// Extends the 16-bit sequence numbers of an RTP stream to 64 bits without wraparound.
///
/// A number is assumed to be the nearest one to the number before (RFC 3550, appendix A.1). The low 16 bits are the
/// original number.
package struct SequenceUnwrapper: Sendable {
    /// The value that is added to the first number, so that preceding numbers are positive; a multiple of 2^16.
    package static let origin: Int64 = 1 << 32

    /// The last result; nil before the first.
    package private(set) var last: Int64?

    /// Creates an unwrapper without a reference.
    package init() {}

    /// Extends a number, which becomes the reference for the next one.
    package mutating func unwrap(_ sequenceNumber: UInt16) -> Int64 {
        let unwrapped = peek(sequenceNumber)
        last = unwrapped
        return unwrapped
    }

    /// Extends a number without changing the reference.
    package func peek(_ sequenceNumber: UInt16) -> Int64 {
        guard let last else { return Self.origin + Int64(sequenceNumber) }
        let step = Int16(truncatingIfNeeded: Int64(sequenceNumber) &- last)
        return last &+ Int64(step)
    }
}

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
