/// Parses NAL units, independently of the module's own parser.
enum AnnexB {
    static func units(_ bytes: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var index = 0
        var start: Int?
        while index < bytes.count {
            let isCode = index + 2 < bytes.count && bytes[index] == 0 && bytes[index + 1] == 0 && bytes[index + 2] == 1
            if isCode {
                if let start { units.append(Array(bytes[start..<index])) }
                start = index + 3
                index += 3
            } else {
                index += 1
            }
        }
        if let start { units.append(Array(bytes[start...])) }
        return units
    }

    static func types(_ bytes: [UInt8]) -> [UInt8] { units(bytes).compactMap { $0.first.map { $0 & 0x1F } } }

    /// Returns the units of the given types only, or of all others.
    static func only(_ types: Set<UInt8>, _ bytes: [UInt8]) -> [UInt8] {
        stream(units(bytes).filter { types.contains($0[0] & 0x1F) })
    }

    static func without(_ types: Set<UInt8>, _ bytes: [UInt8]) -> [UInt8] {
        stream(units(bytes).filter { !types.contains($0[0] & 0x1F) })
    }

    private static func stream(_ units: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for unit in units { bytes += [0, 0, 0, 1] + unit }
        return bytes
    }

    /// Returns the slice types of an access unit, modulo 5: 0 P, 1 B, 2 I (H.264, section 7.4.3).
    static func sliceTypes(_ bytes: [UInt8]) -> [Int] {
        units(bytes).filter { [1, 5].contains($0[0] & 0x1F) }.map { unit in
            var bit = 8
            _ = exponentialGolomb(unit, &bit)
            return exponentialGolomb(unit, &bit) % 5
        }
    }

    private static func exponentialGolomb(_ bytes: [UInt8], _ bit: inout Int) -> Int {
        func next() -> Int {
            defer { bit += 1 }
            return Int(bytes[bit / 8] >> (7 - UInt8(bit % 8))) & 1
        }
        var zeros = 0
        while next() == 0 { zeros += 1 }
        return (0..<zeros).reduce(1) { value, _ in value * 2 + next() } - 1
    }
}
