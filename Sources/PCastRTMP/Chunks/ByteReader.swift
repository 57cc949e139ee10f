/// Reads big-endian integers of an array. A read beyond the end returns nil and does not move the position.
struct ByteReader {
    private let array: [UInt8]
    private let end: Int
    /// The offset of the next byte.
    private(set) var position: Int

    /// Creates a reader of a range of an array; nil for all of it.
    init(_ array: [UInt8], in range: Range<Int>? = nil) {
        self.array = array
        position = min(range?.lowerBound ?? 0, array.count)
        end = min(range?.upperBound ?? array.count, array.count)
    }

    /// Creates a reader from an offset to the end of an array.
    init(_ array: [UInt8], from offset: Int) {
        self.init(array, in: min(offset, array.count)..<array.count)
    }

    /// The number of bytes that are left.
    var remaining: Int { end - position }
    /// Whether all bytes were read.
    var isAtEnd: Bool { position >= end }
    /// The range of the bytes that are left.
    var rest: Range<Int> { position..<end }

    /// Returns the next byte without reading it.
    func peek() -> UInt8? { position < end ? array[position] : nil }

    mutating func uint8() -> UInt8? { integer(1).map { UInt8($0) } }
    mutating func uint16() -> UInt16? { integer(2).map { UInt16($0) } }
    mutating func uint24() -> UInt32? { integer(3).map { UInt32($0) } }
    mutating func uint32() -> UInt32? { integer(4).map { UInt32($0) } }
    mutating func uint64() -> UInt64? { integer(8) }

    /// Reads a signed integer of 24 bits.
    mutating func int24() -> Int32? { uint24().map { Int32(bitPattern: $0 << 8) >> 8 } }

    private mutating func integer(_ size: Int) -> UInt64? {
        guard size <= remaining else { return nil }
        var value: UInt64 = 0
        for index in position..<position + size { value = value << 8 | UInt64(array[index]) }
        position += size
        return value
    }

    /// Reads a number of bytes.
    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? { range(count).map { array[$0] } }

    /// Skips a number of bytes. Returns their range.
    mutating func range(_ count: Int) -> Range<Int>? {
        guard count >= 0, count <= remaining else { return nil }
        defer { position += count }
        return position..<position + count
    }
}

extension [UInt8] {
    /// Appends an integer in big-endian order.
    mutating func append(bigEndian number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Appends the low 24 bits of an integer in big-endian order.
    mutating func append(bigEndian24 number: UInt32) {
        append(UInt8(truncatingIfNeeded: number >> 16))
        append(bigEndian: UInt16(truncatingIfNeeded: number))
    }
}
