/// The 96 random bits by which an answer finds its request (RFC 8489, section 5).
public struct STUNTransactionID: Hashable, Sendable {
    /// The first four bytes on the wire.
    public let high: UInt32

    /// The other eight.
    public let low: UInt64

    public init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    public static func random(using generator: inout some RandomNumberGenerator) -> STUNTransactionID {
        let high = UInt32(truncatingIfNeeded: generator.next())
        return STUNTransactionID(high: high, low: generator.next())
    }
}
