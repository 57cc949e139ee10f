import PCastCore
import Testing

@Suite struct AVCDecoderConfigurationTests {
    private static let sequence: [UInt8] = [0x67, 0x42, 0xC0, 0x1F]
    private static let picture: [UInt8] = [0x68, 0xCE]

    private func configuration(_ record: [UInt8]) -> AVCDecoderConfiguration? {
        record.withByteView { AVCDecoderConfiguration($0) }
    }

    private func record(lengthSize: UInt8) -> [UInt8] {
        [1, 0x42, 0xC0, 0x1F, 0xFC | (lengthSize - 1), 0xE1, 0, 4] + Self.sequence + [1, 0, 2] + Self.picture
    }

    @Test("the parameter sets are returned in Annex B, and lengths become start codes", arguments: 1...4)
    func conversion(lengthSize: Int) throws {
        let parsed = try #require(configuration(record(lengthSize: UInt8(lengthSize))))
        #expect(parsed.lengthSize == lengthSize)
        #expect(parsed.parameterSets == [0, 0, 0, 1] + Self.sequence + [0, 0, 0, 1] + Self.picture)
        let length = [UInt8](repeating: 0, count: lengthSize - 1) + [2]
        let unit = length + [0x65, 1] + length + [0x41, 2]
        #expect(unit.withByteView { parsed.annexB($0) } == [0, 0, 0, 1, 0x65, 1, 0, 0, 0, 1, 0x41, 2])
    }

    @Test("a length that exceeds the access unit is rejected, at every truncation")
    func malformed() throws {
        let parsed = try #require(configuration(record(lengthSize: 4)))
        let unit: [UInt8] = [0, 0, 0, 2, 0x65, 1]
        for length in 1..<unit.count {
            #expect(Array(unit[..<length]).withByteView { parsed.annexB($0) } == nil)
        }
        #expect(([0xFF, 0xFF, 0xFF, 0xFF, 1] as [UInt8]).withByteView { parsed.annexB($0) } == nil)
    }

    @Test("a truncated record has the parameter sets that it contains")
    func truncated() {
        let record = record(lengthSize: 4)
        for length in record.indices {
            let sets = configuration(Array(record[..<length]))?.parameterSets
            if length < 7 { #expect(sets == nil) }
            if length >= 12, length < record.count { #expect(sets == [0, 0, 0, 1] + Self.sequence) }
        }
        #expect(configuration([0] + record.dropFirst()) == nil)
    }
}
