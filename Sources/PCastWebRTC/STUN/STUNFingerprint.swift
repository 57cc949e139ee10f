/// The value of FINGERPRINT: CRC-32 (ITU-T V.42) combined with "STUN" (RFC 8489, section 14.7).
enum STUNFingerprint {
    private static let mask: UInt32 = 0x5354_554E

    /// The CRC table for four bits at a time. It fits into one cache line, and messages have only some hundred bytes.
    private static let table: InlineArray<16, UInt32> = {
        var table = InlineArray<16, UInt32>(repeating: 0)
        for index in 0..<16 {
            var value = UInt32(index)
            for _ in 0..<4 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
            table[index] = value
        }
        return table
    }()

    /// Returns the value for the first `count` bytes. Their length field must already include FINGERPRINT.
    static func value(of bytes: UnsafeRawBufferPointer, count: Int) -> UInt32 {
        // The span avoids a copy of the constant table by each subscript.
        let table = Self.table
        let values = table.span
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in bytes[..<count] {
            remainder ^= UInt32(byte)
            remainder = remainder >> 4 ^ values[Int(remainder & 15)]
            remainder = remainder >> 4 ^ values[Int(remainder & 15)]
        }
        return ~remainder ^ mask
    }
}
