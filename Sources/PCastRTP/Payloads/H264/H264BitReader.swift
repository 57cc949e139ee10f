/// Reads bits of a NAL unit without its emulation prevention bytes (ITU-T H.264, sections 7.2, 7.4.1 and 9.1).
///
/// It does not store the bytes. After the end it reads zeros and sets ``isExhausted``.
struct H264BitReader {
    /// The offset of the current byte.
    private var byteIndex: Int
    /// The index of the next bit in the current byte, from the most significant one.
    private var bitIndex = 0
    /// The number of consecutive zero bytes before the current byte.
    private var zeroCount = 0

    /// Whether more bits were read than there are.
    private(set) var isExhausted = false

    /// Creates a reader.
    ///
    /// - Parameter offset: The offset of the first byte.
    init(offset: Int) { byteIndex = offset }

    /// Reads one bit.
    mutating func bit(_ bytes: Span<UInt8>) -> UInt32 {
        if bitIndex == 0, zeroCount >= 2, byteIndex < bytes.count, bytes[byteIndex] == 3 {
            byteIndex += 1
            zeroCount = 0
        }
        guard byteIndex < bytes.count else {
            isExhausted = true
            return 0
        }
        let byte = bytes[byteIndex]
        let bit = UInt32(byte >> UInt8(7 - bitIndex)) & 1
        bitIndex += 1
        if bitIndex == 8 {
            bitIndex = 0
            byteIndex += 1
            zeroCount = byte == 0 ? zeroCount + 1 : 0
        }
        return bit
    }

    /// Reads an unsigned integer of up to 32 bits, u(n).
    mutating func bits(_ count: Int, _ bytes: Span<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count { value = value << 1 | bit(bytes) }
        return value
    }

    /// Reads an unsigned Exp-Golomb code, ue(v). A code with more than 31 leading zeros sets ``isExhausted``.
    mutating func unsignedExponentialGolomb(_ bytes: Span<UInt8>) -> UInt32 {
        var leadingZeros = 0
        while bit(bytes) == 0 {
            leadingZeros += 1
            if leadingZeros > 31 || isExhausted {
                isExhausted = true
                return 0
            }
        }
        return (1 << UInt32(leadingZeros)) - 1 + bits(leadingZeros, bytes)
    }

    /// Reads a signed Exp-Golomb code, se(v).
    mutating func signedExponentialGolomb(_ bytes: Span<UInt8>) -> Int64 {
        let code = Int64(unsignedExponentialGolomb(bytes))
        return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
    }
}
