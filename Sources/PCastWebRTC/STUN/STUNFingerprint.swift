/// The CRC-32 of FINGERPRINT (RFC 8489, section 14.7), that of ITU-T V.42, turned over by "STUN".
enum STUNFingerprint {
    private static let mask: UInt32 = 0x5354_554E

    /// Four bits at a time: a table of one cache line, for messages of a hundred bytes.
    private static let table: InlineArray<16, UInt32> = {
        var table = InlineArray<16, UInt32>(repeating: 0)
        for index in 0..<16 {
            var value = UInt32(index)
            for _ in 0..<4 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
            table[index] = value
        }
        return table
    }()

    /// The attribute's value over the first `count` bytes, whose length field already counts FINGERPRINT.
    static func value(of bytes: UnsafeRawBufferPointer, count: Int) -> UInt32 {
        // By a span: a constant's subscript has all of the table copied each time.
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
