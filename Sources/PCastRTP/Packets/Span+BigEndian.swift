/// Reading numbers in network order. The caller has checked that they lie inside; the span checks again.
extension Span<UInt8> {
    func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    func bigEndian24(at offset: Int) -> UInt32 {
        UInt32(self[offset]) << 16 | UInt32(bigEndian16(at: offset + 1))
    }

    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
    }
}
