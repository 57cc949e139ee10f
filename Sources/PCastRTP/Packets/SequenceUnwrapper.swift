/// Extends the 16-bit sequence numbers of an RTP stream to 64 bits without wraparound (RFC 3550, appendix A.1).
///
/// It is not generic, because other modules would call generic code for each packet, which is slow.
package struct SequenceUnwrapper: Sendable {
    private var numbers = NumberUnwrapper<UInt16>()

    /// The value that is added to the first number.
    package static var origin: Int64 { NumberUnwrapper<UInt16>.origin }

    /// The last result; nil before the first.
    package var last: Int64? { numbers.last }

    /// Creates an unwrapper without a reference.
    package init() {}

    /// Extends a number, which becomes the reference for the next one.
    package mutating func unwrap(_ sequenceNumber: UInt16) -> Int64 { numbers.unwrap(sequenceNumber) }

    /// Extends a number without changing the reference.
    package func peek(_ sequenceNumber: UInt16) -> Int64 { numbers.peek(sequenceNumber) }
}

/// Extends the 32-bit timestamps of an RTP stream to 64 bits without wraparound, which happens after 13.26 hours at 90
/// kHz.
package typealias TimestampUnwrapper = NumberUnwrapper<UInt32>

/// Extends numbers that wrap around to 64 bits.
///
/// A number is assumed to be the nearest one to the number before. The low bits are the original number.
package struct NumberUnwrapper<Number: FixedWidthInteger & UnsignedInteger>: Sendable {
    /// The value that is added to the first number, so that preceding numbers are positive; a multiple of 2^32.
    package static var origin: Int64 { 1 << 32 }

    /// The last result; nil before the first.
    package private(set) var last: Int64?

    /// Creates an unwrapper without a reference.
    package init() {}

    /// Extends a number, which becomes the reference for the next one.
    package mutating func unwrap(_ number: Number) -> Int64 {
        let unwrapped = peek(number)
        last = unwrapped
        return unwrapped
    }

    /// Extends a number without changing the reference.
    package func peek(_ number: Number) -> Int64 {
        guard let last else { return Self.origin + Int64(number) }
        let difference = Int64(truncatingIfNeeded: number &- Number(truncatingIfNeeded: last))
        // The shifts extend the sign of the difference.
        let unused = 64 - Number.bitWidth
        return last &+ (difference &<< unused) &>> unused
    }
}
