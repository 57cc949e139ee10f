/// Big-endian integers at any alignment; the offset must be within the buffer.
extension UnsafeMutableRawBufferPointer {
    /// Writes an integer at an offset.
    func storeBigEndian<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self)
    }

    /// Writes the low 24 bits of an integer at an offset.
    func storeBigEndian24(_ number: UInt32, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: number >> 16)
        storeBigEndian(UInt16(truncatingIfNeeded: number), at: offset + 1)
    }
}
