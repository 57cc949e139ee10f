/// 128 bits of salt or initialization vector as two integers in network order.
struct SRTPInitializationVector {
    private var high: UInt64
    private var low: UInt64

    /// A session salt of 12 or 14 bytes, zeros after it.
    init(salt: [UInt8]) {
        (high, low) = (0, 0)
        for (position, byte) in salt.enumerated() {
            if position < 8 {
                high |= UInt64(byte) << (56 - 8 * UInt64(position))
            } else {
                low |= UInt64(byte) << (120 - 8 * UInt64(position))
            }
        }
    }

    /// The 12 bytes of GCM: two zeros, SSRC and the 48-bit index, mixed with the salt (RFC 7714, sections 8.1 and 9.1).
    func gcm(ssrc: UInt32, index: UInt64) -> SRTPInitializationVector {
        var vector = self
        vector.high ^= UInt64(ssrc) << 16 | index >> 32
        vector.low ^= index << 32
        return vector
    }

    /// The first counter of counter mode: the salt and the index shifted by 16 bits, the SSRC by 64 (RFC 3711,
    /// section 4.1.1).
    func counter(ssrc: UInt32, index: UInt64) -> SRTPInitializationVector {
        var vector = self
        vector.high ^= UInt64(ssrc)
        vector.low ^= index << 16
        return vector
    }

    /// The vector in network order, for the time of the call.
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
            body(bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
    }
}
