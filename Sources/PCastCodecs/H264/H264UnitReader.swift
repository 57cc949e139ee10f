/// An iterator over the NAL units of a byte stream (ITU-T H.264, annex B) that does not copy.
struct H264UnitReader {
    private let bytes: UnsafeRawBufferPointer
    /// The index after the last start code that was found; nil after the last NAL unit.
    private var position: Int?

    /// Creates a reader. The bytes must stay valid while it is used.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = Self.startCode(in: bytes, from: 0).map { $0 + 3 }
    }

    /// Returns the next NAL unit that is not empty, without trailing zeros; nil after the last one.
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

    /// Returns the index of the next start code 00 00 01. It examines every third byte: a byte above 1 is no part of a
    /// start code, and neither of the two bytes before it can start one.
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
