import PCastCore
import Testing

@testable import PCastCodecs

/// Encoded frames of H.265 that are sent as they are.
@Suite struct H265PassThroughTests {
    /// The parameter sets of x265 3.5, Main, level 2.
    private static let sets: [[UInt8]] = [
        [0x40, 1, 0x0C, 1, 0xFF, 0xFF, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3C, 0x92, 0x80, 0x90],
        [
            0x42, 1, 1, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3C, 0xA0, 0x1A, 0x20, 0x79, 0x65, 0x92, 0xA4,
            0x93, 0x2B, 0xC0, 0x5A, 2, 0, 0, 3, 0, 2, 0, 0, 3, 0, 0x32, 0x10,
        ], [0x44, 1, 0xC1, 0x72, 0xB4, 0x62, 0x40],
    ]
    private static let delimiter: [UInt8] = [0x46, 0x01, 0x50]
    /// Slices of an IDR picture, of a clean random access frame, of another frame, and of a leading one (RASL).
    private static let idr: [UInt8] = [0x26, 0x01, 0xAF, 1, 2, 3]
    private static let clean: [UInt8] = [0x2A, 0x01, 0xAF, 4, 5, 6]
    private static let slice: [UInt8] = [0x02, 0x01, 0xD0, 7, 8, 9]
    private static let leading: [UInt8] = [0x12, 0x01, 0xD0, 7, 8, 9]

    private static func annexB(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }

    /// Passes frames of 1/30 s.
    private static func pass(
        _ through: inout H265PassThrough, _ units: [[UInt8]], number: Int64, isDamaged: Bool = false
    ) throws -> EncodedFrame? {
        try through.pass(
            annexB(units), isDamaged: isDamaged, timestamp: MediaTime(ticks: number * 3_000, rate: .video),
            captureTime: nil)
    }

    @Test("frames that can be sent are unchanged")
    func untouched() throws {
        var through = H265PassThrough()
        for (number, units) in [Self.sets + [Self.idr], [Self.slice], [Self.delimiter] + Self.sets + [Self.clean]]
            .enumerated()
        {
            let frame = try #require(try Self.pass(&through, units, number: Int64(number)))
            #expect(frame.bytes == Self.annexB(units) && frame.codec == .h265)
            #expect(frame.isKeyFrame == (number != 1) && frame.timestamp.ticks == Int64(number) * 3_000)
        }
        #expect(through.droppedCount == 0)
    }

    @Test(
        "random access points get the parameter sets that the header or an earlier frame has", arguments: [true, false])
    func addsSets(isInHeader: Bool) throws {
        var through = H265PassThrough(parameterSets: isInHeader ? Self.annexB(Self.sets) : [])
        if !isInHeader {
            let none = try Self.pass(&through, Self.sets, number: 0)
            #expect(none == nil)
        }
        let first = try #require(try Self.pass(&through, [Self.delimiter, Self.idr], number: 1))
        #expect(first.bytes == Self.annexB([Self.delimiter] + Self.sets + [Self.idr]) && first.isKeyFrame)
        let next = try #require(try Self.pass(&through, [Self.slice], number: 2))
        #expect(next.bytes == Self.annexB([Self.slice]) && !next.isKeyFrame)
        // A frame with some of the sets gets all of them once.
        let last = try #require(try Self.pass(&through, [Self.sets[2], Self.clean], number: 3))
        #expect(last.bytes == Self.annexB(Self.sets + [Self.clean]))
        #expect(through.droppedCount == 0)
    }

    @Test("nothing precedes the first key frame with parameter sets, and damage is followed by the next one")
    func damage() throws {
        var through = H265PassThrough()
        let early = try [[Self.slice], [Self.idr]].map { try Self.pass(&through, $0, number: 0) }
        #expect(early.allSatisfy { $0 == nil } && through.droppedCount == 0)
        let first = try Self.pass(&through, Self.sets + [Self.idr], number: 1)
        #expect(first != nil)
        let damaged = try Self.pass(&through, [Self.slice], number: 2, isDamaged: true)
        let after = try Self.pass(&through, [Self.slice], number: 3)
        let broken = try Self.pass(&through, [[0x82, 0x01, 1]], number: 4)
        let short = try Self.pass(&through, [[0x02, 0x01]], number: 5)
        #expect(damaged == nil && after == nil && broken == nil && short == nil && through.droppedCount == 4)
        let again = try Self.pass(&through, [Self.clean], number: 6)
        #expect(again?.isKeyFrame == true)
    }

    @Test("units of other layers and of unspecified types are left out")
    func otherUnits() throws {
        var through = H265PassThrough()
        let units = Self.sets + [[0x43, 0x01, 1, 1], Self.idr, [0x02, 0x09, 0xD0, 1], [0x60, 0x01, 9]]
        let frame = try #require(try Self.pass(&through, units, number: 0))
        #expect(frame.bytes == Self.annexB(Self.sets + [Self.idr]))
    }

    @Test("reordered frames and other profiles are obstacles")
    func obstacles() throws {
        var through = H265PassThrough()
        _ = try Self.pass(&through, Self.sets + [Self.idr], number: 0)
        #expect(throws: TranscodeReason.hasReordering) { try Self.pass(&through, [Self.leading], number: 1) }
        var steps = H265PassThrough()
        _ = try Self.pass(&steps, Self.sets + [Self.idr], number: 0)
        #expect(throws: TranscodeReason.hasReordering) {
            for number in [3, 1, 2, 6, 4, 5, 9, 7, 8] as [Int64] {
                _ = try Self.pass(&steps, [Self.slice], number: number)
            }
        }
        var deep = Self.sets
        deep[1][3] = 2
        var other = H265PassThrough()
        #expect(throws: TranscodeReason.videoProfile("Main 10")) {
            try Self.pass(&other, deep + [Self.idr], number: 0)
        }
    }

    @Test("a configuration record gives the parameter sets, and a truncated one is invalid")
    func record() throws {
        var record: [UInt8] = [1] + [UInt8](repeating: 0, count: 20) + [0x03, 3]
        for (index, set) in Self.sets.enumerated() {
            record += [0xA0 | UInt8(index), 0, 1, 0, UInt8(set.count)] + set
        }
        let configuration = try #require(record.withByteView { HEVCDecoderConfiguration($0) })
        #expect(configuration.lengthSize == 4 && configuration.parameterSets == Self.annexB(Self.sets))
        for length in 0..<record.count {
            let cut = Array(record.prefix(length)).withByteView { HEVCDecoderConfiguration($0) }
            #expect(cut == nil)
        }
        let prefixed: [UInt8] = [0, 0, 0, 6] + Self.slice
        #expect(prefixed.withByteView { configuration.annexB($0) } == Self.annexB([Self.slice]))
        let truncated: [UInt8] = [0, 0, 0, 7, 1]
        #expect(truncated.withByteView { configuration.annexB($0) } == nil)
    }
}
