/// Reads bits of a NAL unit without its emulation prevention bytes (ITU-T H.264, sections 7.2, 7.4.1 and 9.1).
///
/// It does not store the bytes. After the end it reads zeros and sets ``isExhausted``.
package struct H264BitReader {
    /// The offset of the current byte.
    private var byteIndex: Int
    /// The index of the next bit in the current byte, from the most significant one.
    private var bitIndex = 0
    /// The number of consecutive zero bytes before the current byte.
    private var zeroCount = 0

    /// Whether more bits were read than there are.
    package private(set) var isExhausted = false
    /// The number of bits that were read, without those of emulation prevention bytes.
    package private(set) var position = 0

    /// Creates a reader.
    ///
    /// - Parameter offset: The offset of the first byte.
    package init(offset: Int) { byteIndex = offset }

    /// Reads one bit.
    package mutating func bit(_ bytes: Span<UInt8>) -> UInt32 {
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
        position += 1
        bitIndex += 1
        if bitIndex == 8 {
            bitIndex = 0
            byteIndex += 1
            zeroCount = byte == 0 ? zeroCount + 1 : 0
        }
        return bit
    }

    /// Reads an unsigned integer of up to 32 bits, u(n).
    package mutating func bits(_ count: Int, _ bytes: Span<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count { value = value << 1 | bit(bytes) }
        return value
    }

    /// Reads an unsigned Exp-Golomb code, ue(v). A code with more than 31 leading zeros sets ``isExhausted``.
    package mutating func unsignedExponentialGolomb(_ bytes: Span<UInt8>) -> UInt32 {
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
    package mutating func signedExponentialGolomb(_ bytes: Span<UInt8>) -> Int64 {
        let code = Int64(unsignedExponentialGolomb(bytes))
        return code & 1 == 1 ? (code + 1) / 2 : -(code / 2)
    }

    /// Returns the payload of a NAL unit without its header and its emulation prevention bytes.
    package static func payload(of unit: Span<UInt8>) -> [UInt8] {
        var payload: [UInt8] = []
        payload.reserveCapacity(unit.count)
        var zeros = 0
        for index in unit.indices.dropFirst() {
            let byte = unit[index]
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            payload.append(byte)
        }
        return payload
    }
}

/// A bit writer for the payload of a NAL unit.
package struct H264BitWriter {
    private var bytes: [UInt8] = []
    private var count = 0

    /// Creates a writer of an empty payload.
    package init() {}

    /// Writes the lowest bits of a value, the most significant one first.
    package mutating func write(_ value: UInt32, _ bits: Int) {
        for bit in (0..<bits).reversed() { append(value >> UInt32(bit) & 1 == 1) }
    }

    private mutating func append(_ bit: Bool) {
        if count & 7 == 0 { bytes.append(0) }
        if bit { bytes[bytes.count - 1] |= 0x80 >> UInt8(count & 7) }
        count += 1
    }

    /// Copies a range of bits of another payload, which has no emulation prevention bytes.
    package mutating func copy(_ range: Range<Int>, of source: [UInt8]) {
        for position in range { append(source[position >> 3] >> UInt8(7 - position & 7) & 1 == 1) }
    }

    /// Returns the NAL unit: the header, and the payload with a stop bit and emulation prevention bytes.
    package func unit(_ header: UInt8) -> [UInt8] {
        var payload = self
        payload.append(true)
        var unit = [header]
        var zeros = 0
        for byte in payload.bytes {
            if zeros >= 2, byte <= 3 {
                unit.append(3)
                zeros = 0
            }
            zeros = byte == 0 ? zeros + 1 : 0
            unit.append(byte)
        }
        return unit
    }
}
