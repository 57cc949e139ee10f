/// Writing numbers in network order, at any alignment. The caller has checked that they fit.
extension UnsafeMutableRawBufferPointer {
    func storeBigEndian<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self)
    }

    /// The low 24 bits of `number`.
    func storeBigEndian24(_ number: UInt32, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: number >> 16)
        storeBigEndian(UInt16(truncatingIfNeeded: number), at: offset + 1)
    }
}
