/// The parameter sets of an H.264 access unit.
enum H264ParameterSets {
    private static let sequence: UInt8 = 7
    private static let picture: UInt8 = 8

    /// Sequence and picture parameter sets alone, in Annex B, as containers want them apart.
    static func annexB(in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        for unit in units(of: bytes) where !unit.isEmpty {
            let type = bytes[unit.lowerBound] & 0x1F
            if type == sequence || type == picture { result += [0, 0, 0, 1] + bytes[unit] }
        }
        return result
    }

    /// Where the NAL units lie, start codes left out (H.264, Annex B).
    private static func units(of bytes: [UInt8]) -> [Range<Int>] {
        var units: [Range<Int>] = []
        var start: Int?
        var index = 0
        while index + 2 < bytes.count {
            guard bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 else {
                index += 1
                continue
            }
            if let start { units.append(start..<trimmed(bytes, from: start, to: index)) }
            start = index + 3
            index += 3
        }
        if let start { units.append(start..<bytes.count) }
        return units
    }

    /// The zero that begins a start code of four bytes is not of the unit before it.
    private static func trimmed(_ bytes: [UInt8], from start: Int, to end: Int) -> Int {
        var end = end
        while end > start, bytes[end - 1] == 0 { end -= 1 }
        return end
    }
}
