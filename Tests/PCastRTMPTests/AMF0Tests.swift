import PCastRTMP
import Testing

@Suite struct AMF0Tests {
    private func read(_ bytes: [UInt8]) throws(AMF0Error) -> [AMF0Value] {
        var reader = AMF0Reader(bytes)
        return try reader.values()
    }

    private func error(_ bytes: [UInt8]) -> AMF0Error? {
        do throws(AMF0Error) {
            _ = try read(bytes)
            return nil
        } catch { return error }
    }

    private static let values: [AMF0Value] = [
        .number(-1.5), .number(.infinity), .boolean(true), .boolean(false), .string(""), .string("é😀"), .null,
        .undefined, .string(String(repeating: "x", count: 70_000)), .object([:]),
        .object(["a": .number(1), "b": .object(["c": .strictArray([.null, .string("d")])]), "": .null]),
        .ecmaArray(["0": .boolean(true)]), .strictArray([]), .date(milliseconds: 1e12, timeZone: -60),
    ]

    @Test("values are read as they were written")
    func roundTrip() throws {
        #expect(try read(AMF0Writer.bytes(Self.values)) == Self.values)
    }

    @Test("the bytes are those of the specification")
    func bytes() {
        #expect(AMF0Writer.bytes([.number(1)]) == [0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0])
        #expect(AMF0Writer.bytes([.object(["a": .null])]) == [3, 0, 1, 0x61, 5, 0, 0, 9])
        #expect(AMF0Writer.bytes([.ecmaArray(["a": .null])]) == [8, 0, 0, 0, 1, 0, 1, 0x61, 5, 0, 0, 9])
    }

    @Test("values that are truncated at any byte are an error, except where an object's end marker is missing")
    func truncated() throws {
        for value in Self.values where value != .string(String(repeating: "x", count: 70_000)) {
            let bytes = AMF0Writer.bytes([value])
            for length in 1..<bytes.count where value.object == nil {
                #expect(error(Array(bytes[..<length])) == .truncated, "\(value) cut to \(length)")
            }
        }
        #expect(try read([3, 0, 1, 0x61, 5]) == [.object(["a": .null])])
        #expect(error([3, 0, 1, 0x61]) == .truncated)
    }

    @Test("an object with a class and an XML document are read as an object and a string")
    func rareTypes() throws {
        #expect(try read([16, 0, 1, 0x63, 0, 1, 0x61, 5, 0, 0, 9]) == [.object(["a": .null])])
        #expect(try read([15, 0, 0, 0, 1, 0x78]) == [.string("x")])
    }

    @Test("nesting is limited")
    func depth() {
        let bytes = [UInt8](repeating: 10, count: 1) + [0, 0, 0, 1]
        let nested = Array(repeatElement(bytes, count: 15).joined())
        #expect(error(nested + [5]) == nil)
        #expect(error(bytes + nested + [5]) == .tooDeep)
        #expect(error(Array(repeatElement([3, 0, 1, 0x61] as [UInt8], count: 10_000).joined())) == .tooDeep)
    }

    @Test("the number of values is limited, whatever an array announces")
    func count() {
        #expect(error([10, 0, 0, 0x0F, 0xFF] + [UInt8](repeating: 5, count: 0xFFF)) == nil)
        #expect(error([10, 0, 0, 0x10, 0] + [UInt8](repeating: 5, count: 0x1000)) == .tooMany)
        #expect(error([10, 0xFF, 0xFF, 0xFF, 0xFF, 5]) == .truncated)
    }

    @Test("unsupported types are an error", arguments: [4, 7, 9, 14, 17, 255] as [UInt8])
    func unsupported(type: UInt8) {
        #expect(error([type, 0, 0, 0]) == .unsupportedType(type))
    }

    @Test("a count is a non-negative integer")
    func counts() {
        #expect(AMF0Value.number(7).count == 7)
        for number in [-1, 0.5, .nan, .infinity, 1e300] { #expect(AMF0Value.number(number).count == nil) }
    }
}
