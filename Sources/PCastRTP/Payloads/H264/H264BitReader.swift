/// Reads the bits of a NAL unit's raw byte sequence payload, passing over emulation prevention bytes (ITU-T H.264,
/// sections 7.2, 7.4.1 and 9.1).
///
/// It does not hold the bytes, which are handed to each call. Past the end it reads zeros and `isExhausted`.
struct H264BitReader {
    private var byteIndex: Int
    private var bitIndex = 0
    private var zeroCount = 0

    /// Whether more was read than there is.
    private(set) var isExhausted = false

    /// - Parameter offset: of the first byte to be read.
    init(offset: Int) { byteIndex = offset }

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

    /// u(n), n ≤ 32.
    mutating func bits(_ count: Int, _ bytes: Span<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count { value = value << 1 | bit(bytes) }
        return value
    }

    /// ue(v); a code of more than 32 bits counts as exhaustion.
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

    /// se(v).
    mutating func signedExponentialGolomb(_ bytes: Span<UInt8>) -> Int64 {
        let code = Int64(unsignedExponentialGolomb(bytes))
        return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
    }
}
