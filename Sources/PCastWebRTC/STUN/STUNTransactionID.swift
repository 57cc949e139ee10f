/// The 96-bit random number that relates a response to its request (RFC 8489, section 5).
package struct STUNTransactionID: Hashable, Sendable {
    /// The first four bytes.
    package let high: UInt32

    /// The last eight bytes.
    package let low: UInt64

    /// Creates an ID from its bytes in network order.
    package init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns a random ID.
    package static func random(using generator: inout some RandomNumberGenerator) -> STUNTransactionID {
        let high = UInt32(truncatingIfNeeded: generator.next())
        return STUNTransactionID(high: high, low: generator.next())
    }
}
