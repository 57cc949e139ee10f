/// Iterates over the NAL units of a byte stream without copying (ITU-T H.264, annex B).
package struct AnnexBReader {
    private let bytes: UnsafeRawBufferPointer

    /// The offset of the next NAL unit, or the end.
    private var position: Int

    /// Creates a reader at the first NAL unit.
    ///
    /// - Parameter bytes: The byte stream, which must be valid while the reader is used.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = Self.startCode(in: bytes, from: 0).map { $0 + 3 } ?? bytes.count
    }

    /// Returns the range of the next NAL unit without trailing zero bytes; nil after the last. Empty units are skipped.
    package mutating func next() -> Range<Int>? {
        while position < bytes.count {
            let start = position
            let code = Self.startCode(in: bytes, from: start)
            position = code.map { $0 + 3 } ?? bytes.count
            var end = code ?? bytes.count
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            if end > start { return start..<end }
        }
        return nil
    }

    /// Returns the offset of the first start code, 00 00 01, at or after an offset.
    ///
    /// It tests eight bytes at a time: a start code cannot begin in a word without zero bytes, which most words of
    /// coded video are.
    private static func startCode(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        let last = bytes.count - 3
        while index <= last {
            if index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 == 0 {
                    index += 8
                    continue
                }
            }
            let end = min(index + 8, last + 1)
            while index < end {
                if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 { return index }
                index += 1
            }
        }
        return nil
    }
}
