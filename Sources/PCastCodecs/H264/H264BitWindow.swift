/// The first 64 bits of a NAL unit's payload, without emulation prevention bytes (ITU-T H.264, sections 7.2, 7.4.1 and
/// 9.1). They contain the first fields of slices and parameter sets.
struct H264BitWindow {
    private var bits: UInt64 = 0
    /// The number of bits that are left.
    private var count = 0

    /// Reads the bits of a NAL unit from a byte offset on.
    init(_ unit: UnsafeRawBufferPointer, offset: Int) {
        var zeros = 0
        for byte in unit.dropFirst(offset).prefix(12) where count < 64 {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            bits |= UInt64(byte) << UInt64(56 - count)
            count += 8
        }
    }

    /// Reads an unsigned Exp-Golomb code, ue(v). Returns nil if it is longer than the remaining bits.
    mutating func unsignedExponentialGolomb() -> UInt32? {
        let zeros = bits.leadingZeroBitCount
        let length = 2 * zeros + 1
        guard zeros < 32, length <= count else { return nil }
        let code = bits >> UInt64(64 - length)
        bits = length == 64 ? 0 : bits << UInt64(length)
        count -= length
        return UInt32(code - 1)
    }
}
