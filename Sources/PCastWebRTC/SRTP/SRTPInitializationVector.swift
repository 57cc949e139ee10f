/// A salt or initialization vector of 128 bits, as two big-endian integers.
struct SRTPInitializationVector {
    private var high: UInt64
    private var low: UInt64

    /// Creates a value from a session salt of 12 or 14 bytes, padded with zeros.
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

    /// Returns the 12-byte initialization vector of GCM: two zeros, SSRC and 48-bit index, combined with the salt (RFC
    /// 7714, sections 8.1 and 9.1).
    func gcm(ssrc: UInt32, index: UInt64) -> SRTPInitializationVector {
        var vector = self
        vector.high ^= UInt64(ssrc) << 16 | index >> 32
        vector.low ^= index << 32
        return vector
    }

    /// Returns the initial counter block of counter mode (RFC 3711, section 4.1.1). It combines the salt shifted by 16
    /// bits, the SSRC shifted by 64 bits and the index shifted by 16 bits.
    func counter(ssrc: UInt32, index: UInt64) -> SRTPInitializationVector {
        var vector = self
        vector.high ^= UInt64(ssrc)
        vector.low ^= index << 16
        return vector
    }

    /// Calls a function with the bytes in network order.
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
            body(bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
    }
}
