/// A bit reader of a whole NAL unit, without its header and its emulation prevention bytes (ITU-T H.264, sections 7.2,
/// 7.4.1 and 9.1).
struct H264SyntaxReader {
    let bytes: [UInt8]
    /// The number of bits that were read from the payload.
    private(set) var position = 0

    init(_ unit: some Collection<UInt8>) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(unit.count)
        var zeros = 0
        for byte in unit.dropFirst() {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    /// Reads an unsigned number of at most 32 bits, u(n). Returns nil if fewer bits are left.
    mutating func bits(_ count: Int) -> UInt32? {
        guard position + count <= bytes.count * 8 else { return nil }
        var value: UInt32 = 0
        for _ in 0..<count {
            value = value << 1 | UInt32(bytes[position >> 3] >> UInt8(7 - position & 7) & 1)
            position += 1
        }
        return value
    }

    mutating func flag() -> Bool? { bits(1).map { $0 == 1 } }

    /// Reads an unsigned Exp-Golomb code, ue(v). Returns nil if it is truncated or longer than 32 bits.
    mutating func unsignedExponentialGolomb() -> UInt32? {
        var zeros = 0
        while let bit = bits(1) {
            if bit == 1 { return bits(zeros).map { (UInt32(1) << UInt32(zeros) &+ $0) &- 1 } }
            zeros += 1
            guard zeros < 32 else { return nil }
        }
        return nil
    }

    /// Reads a signed Exp-Golomb code, se(v). Returns nil if it is truncated or too long.
    mutating func signedExponentialGolomb() -> Int32? {
        unsignedExponentialGolomb().map { $0 & 1 == 1 ? Int32($0 / 2) + 1 : -Int32($0 / 2) }
    }
}

/// A bit writer for the payload of a NAL unit.
struct H264BitWriter {
    private var bytes: [UInt8] = []
    private var count = 0

    mutating func write(_ value: UInt32, _ bits: Int) {
        for bit in (0..<bits).reversed() { append(value >> UInt32(bit) & 1 == 1) }
    }

    private mutating func append(_ bit: Bool) {
        if count & 7 == 0 { bytes.append(0) }
        if bit { bytes[bytes.count - 1] |= 0x80 >> UInt8(count & 7) }
        count += 1
    }

    /// Copies a range of bits of another payload.
    mutating func copy(_ range: Range<Int>, of source: [UInt8]) {
        for position in range { append(source[position >> 3] >> UInt8(7 - position & 7) & 1 == 1) }
    }

    /// Returns the NAL unit: the header, and the payload with a stop bit and emulation prevention bytes.
    func unit(_ header: UInt8) -> [UInt8] {
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
