/// Walks the NAL units of a byte stream (ITU-T H.264, annex B) without copying.
struct H264UnitReader {
    private let bytes: UnsafeRawBufferPointer
    /// The first byte after the last start code that was found; nil after the last unit.
    private var position: Int?

    /// - Parameter bytes: valid as long as the reader is used.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = Self.startCode(in: bytes, from: 0).map { $0 + 3 }
    }

    /// The next unit that is not empty, its header first, without the zeros that trail it; nil after the last.
    mutating func next() -> UnsafeRawBufferPointer? {
        while let start = position {
            let following = Self.startCode(in: bytes, from: start)
            position = following.map { $0 + 3 }
            var end = following ?? bytes.count
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            if end > start { return UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }
        }
        return nil
    }

    /// Where the next 00 00 01 stands. Every third byte is looked at: what is more than 1 cannot be part of one, nor
    /// can the two before it begin one.
    private static func startCode(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start + 2
        while index < bytes.count {
            switch bytes[index] {
            case 0: index += 1
            case 1 where bytes[index - 1] == 0 && bytes[index - 2] == 0: return index - 2
            default: index += 3
            }
        }
        return nil
    }
}
