/// Extends the 16-bit sequence numbers of one RTP stream to 64 bits that do not wrap.
///
/// A number is placed nearest to the one before it (RFC 3550, appendix A.1). Its low 16 bits stay what the packet
/// carries, so `UInt16(truncatingIfNeeded:)` is the way back.
public struct SequenceUnwrapper: Sendable {
    /// Added to the first number, so that packets from before it stay positive; a multiple of 2^16.
    public static let origin: Int64 = 1 << 32

    /// The number unwrapped last, nil before the first.
    public private(set) var last: Int64?

    public init() {}

    /// The place of `sequenceNumber` near the last one, which it becomes.
    public mutating func unwrap(_ sequenceNumber: UInt16) -> Int64 {
        let unwrapped = peek(sequenceNumber)
        last = unwrapped
        return unwrapped
    }

    /// What `unwrap` would give, leaving the state alone.
    public func peek(_ sequenceNumber: UInt16) -> Int64 {
        guard let last else { return Self.origin + Int64(sequenceNumber) }
        let step = Int16(truncatingIfNeeded: Int64(sequenceNumber) &- last)
        return last &+ Int64(step)
    }
}
