/// Writes boxes of the ISO base media file format (ISO/IEC 14496-12, section 4.2). Sizes are filled in when a box ends.
struct BoxWriter {
    /// The bytes written so far.
    private(set) var bytes: [UInt8] = []

    /// Creates an empty writer with memory for a number of bytes.
    init(capacity: Int = 1_024) { bytes.reserveCapacity(capacity) }

    /// Writes a box whose contents the closure writes.
    mutating func box(_ type: String, _ contents: (inout BoxWriter) -> Void) {
        let start = begin(type)
        contents(&self)
        end(start)
    }

    /// Writes a box with a version and flags (`FullBox`).
    mutating func fullBox(
        _ type: String, version: UInt8 = 0, flags: UInt32 = 0, _ contents: (inout BoxWriter) -> Void
    ) {
        let start = begin(type)
        uint32(UInt32(version) << 24 | flags)
        contents(&self)
        end(start)
    }

    /// Writes the size, which is zero for now, and the type. Returns the offset of the box for ``end(_:)``.
    private mutating func begin(_ type: String) -> Int {
        let start = bytes.count
        uint32(0)
        text(type)
        return start
    }

    /// Fills in the size of the box at an offset.
    private mutating func end(_ start: Int) { replaceUInt32(at: start, by: UInt32(bytes.count - start)) }

    /// Replaces four bytes that were written before.
    mutating func replaceUInt32(at offset: Int, by value: UInt32) {
        for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
    }

    /// Replaces eight bytes that were written before.
    mutating func replaceUInt64(at offset: Int, by value: UInt64) {
        for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * index)) }
    }

    mutating func uint8(_ value: UInt8) { bytes.append(value) }

    mutating func uint16(_ value: UInt16) { big(UInt64(value), 2) }

    mutating func uint24(_ value: UInt32) { big(UInt64(value), 3) }

    mutating func uint32(_ value: UInt32) { big(UInt64(value), 4) }

    mutating func uint64(_ value: UInt64) { big(value, 8) }

    /// Writes the lower bytes of a value in network byte order.
    private mutating func big(_ value: UInt64, _ count: Int) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
    }

    /// Writes ASCII text without a terminator.
    mutating func text(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes a number of zero bytes.
    mutating func zeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    mutating func append(_ other: some Collection<UInt8>) { bytes.append(contentsOf: other) }
}
