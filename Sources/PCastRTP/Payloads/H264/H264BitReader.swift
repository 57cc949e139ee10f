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

/// The ID of a parameter set and the one it refers to (ITU-T H.264, sections 7.3.2.1.1 and 7.3.2.2).
struct H264ParameterSetID {
    /// Whether it is a sequence parameter set.
    let isSequence: Bool
    /// The ID of the parameter set.
    let id: UInt32
    /// The ID of the sequence parameter set: its own, or the one that a picture parameter set refers to.
    let sequenceID: UInt32

    /// Parses a NAL unit. Returns nil if it is not a parameter set, is truncated or contains an invalid ID.
    init?(_ unit: Span<UInt8>) {
        guard !unit.isEmpty else { return nil }
        switch unit[0] & H264NALUnit.typeMask {
        case H264NALUnit.sequenceParameterSet:
            // The ID follows the profile, the constraint flags and the level.
            var reader = H264BitReader(offset: 4)
            id = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 32 else { return nil }
            (isSequence, sequenceID) = (true, id)
        case H264NALUnit.pictureParameterSet:
            var reader = H264BitReader(offset: 1)
            id = reader.unsignedExponentialGolomb(unit)
            sequenceID = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 256, sequenceID < 32 else { return nil }
            isSequence = false
        default: return nil
        }
    }

    /// Returns the ID of the picture parameter set that a slice refers to (section 7.3.3); nil if the slice header is
    /// truncated.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - offset: The offset of the slice header, after the header of the NAL unit.
    /// - Returns: The ID.
    static func ofSlice(_ payload: Span<UInt8>, at offset: Int) -> UInt32? {
        var reader = H264BitReader(offset: offset)
        _ = reader.unsignedExponentialGolomb(payload)
        _ = reader.unsignedExponentialGolomb(payload)
        let id = reader.unsignedExponentialGolomb(payload)
        return reader.isExhausted || id > 255 ? nil : id
    }
}
