/// Reads bits of a payload, the most significant one of each byte first.
///
/// It does not store the bytes. After the end it reads zeros and sets ``isExhausted``.
struct BitReader {
    /// The offset of the next bit.
    private(set) var position: Int
    /// Whether more bits were read than there are.
    private(set) var isExhausted = false

    /// Creates a reader at the offset of a byte.
    init(offset: Int) { position = offset * 8 }

    /// Reads one bit.
    mutating func bit(_ bytes: Span<UInt8>) -> UInt32 {
        guard position >> 3 < bytes.count else {
            isExhausted = true
            return 0
        }
        defer { position += 1 }
        return UInt32(bytes[position >> 3] >> UInt8(7 - position & 7)) & 1
    }

    /// Reads one bit as a flag.
    mutating func flag(_ bytes: Span<UInt8>) -> Bool { bit(bytes) == 1 }

    /// Reads an unsigned integer of up to 32 bits.
    mutating func bits(_ count: Int, _ bytes: Span<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count { value = value << 1 | bit(bytes) }
        return value
    }
}
