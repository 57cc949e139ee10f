public import PCastCore

/// A receiver's limit for the sum of streams (REMB; draft-alvestrand-rmcat-remb-03, section 2.2).
public struct ReceiverEstimatedBitrate: Hashable, Sendable {
    /// The SSRC of the receiver.
    public let senderSSRC: UInt32
    /// The limit.
    public let bitrate: Bitrate
    /// The offset of the first SSRC in the datagram.
    let offset: Int
    /// The number of streams.
    public let count: Int

    /// The unique identifier `REMB` in ASCII.
    static let uniqueIdentifier: UInt32 = 0x5245_4D42

    /// Returns the SSRC of a stream; the index must be less than ``count``.
    public func ssrc(_ index: Int, in datagram: Span<UInt8>) -> UInt32 {
        precondition(index >= 0 && index < count, "the stream does not exist")
        return datagram.bigEndian32(at: offset + index * 4)
    }

    /// Parses the body of a message. Returns nil if it is not REMB or SSRCs are missing.
    init?(in datagram: Span<UInt8>, body: Range<Int>) {
        let start = body.lowerBound
        guard body.count >= 16, datagram.bigEndian32(at: start + 8) == Self.uniqueIdentifier else { return nil }
        count = Int(datagram[start + 12])
        offset = start + 16
        guard body.count >= 16 + 4 * count else { return nil }
        senderSSRC = datagram.bigEndian32(at: start)
        let packed = datagram.bigEndian24(at: start + 13)
        bitrate = Self.bitrate(mantissa: Int64(packed & 0x3FFFF), exponent: packed >> 18)
    }

    /// Returns the limit; the maximum if it exceeds 64 bits.
    private static func bitrate(mantissa: Int64, exponent: UInt32) -> Bitrate {
        guard mantissa.leadingZeroBitCount > Int(exponent) else { return Bitrate(bitsPerSecond: .max) }
        return Bitrate(bitsPerSecond: mantissa << Int64(exponent))
    }

    /// Returns a bit rate as 6 bits of exponent and 18 bits of mantissa, rounded down.
    static func packed(_ bitrate: Bitrate) -> UInt32 {
        let bits = UInt64(max(bitrate.bitsPerSecond, 0))
        let exponent = max(0, 64 - bits.leadingZeroBitCount - 18)
        return UInt32(exponent) << 18 | UInt32(bits >> UInt64(exponent))
    }
}
