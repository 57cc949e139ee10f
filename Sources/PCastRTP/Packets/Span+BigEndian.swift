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
