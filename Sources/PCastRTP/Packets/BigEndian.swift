import PCastCore

/// Big-endian integers at an offset, which must be within the span.
extension Span<UInt8> {
    /// Returns 16 bits at an offset.
    func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    /// Returns 24 bits at an offset.
    func bigEndian24(at offset: Int) -> UInt32 {
        UInt32(self[offset]) << 16 | UInt32(bigEndian16(at: offset + 1))
    }

    /// Returns 32 bits at an offset.
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    /// Returns 64 bits at an offset.
    func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
    }
}

/// Big-endian integers at any alignment; the offset must be within the buffer.
extension MutableByteView {
    /// Writes an integer at an offset.
    func storeBigEndian<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
        storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self)
    }

    /// Writes the low 24 bits of an integer at an offset.
    func storeBigEndian24(_ number: UInt32, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: number >> 16)
        storeBigEndian(UInt16(truncatingIfNeeded: number), at: offset + 1)
    }
}
