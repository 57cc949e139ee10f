import PCastCore
import PCastHLS
import PCastPackaging
import PCastSRT
import PCastTestSupport
import Testing

@testable import PCastPlatform

/// Splice messages of a publisher as date ranges.
@Suite("Splice messages in playlists")
struct SpliceDateRangeTests {
    private static let start = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    /// Returns an insert with a time, and a duration of 30 s at the beginning of a break.
    private func insert(_ event: UInt8, isOut: Bool) throws -> SpliceInformation {
        let duration: [UInt8] = isOut ? [0x7E, 0, 0x29, 0x32, 0xE0] : []
        let command: [UInt8] =
            [0, 0, 0, event, 0x7F, isOut ? 0xEF : 0x4F, 0xFE, 0, 1, 0x5F, 0x90] + duration + [0, 1, 0, 0]
        let section = TransportStreamBuilder.splice(
            [0, 0, 0, 0, 0, 0, 0, 0xFF, 0xF0, UInt8(command.count), 5] + command + [0, 0])
        return try #require(SpliceInformation(section))
    }

    @Test("the end of a break completes the tag of its beginning, and repetitions are left out")
    func breaks() throws {
        var breaks = SpliceDateRanges()
        let (out, back) = (try insert(7, isOut: true), try insert(7, isOut: false))
        let beginning = breaks.range(of: out, at: Self.start)
        let repeated = breaks.range(of: out, at: Self.start + .seconds(1))
        let end = breaks.range(of: back, at: Self.start + .seconds(29))
        let next = breaks.range(of: out, at: Self.start + .seconds(60))
        #expect(repeated == nil)
        #expect(beginning?.plannedDuration == .seconds(30) && beginning?.end == nil)
        #expect(beginning?.scte35.map(\.kind) == [.out])
        #expect(beginning?.scte35.first?.text.hasPrefix("0xFC30") == true)
        #expect(end?.id == beginning?.id && end?.start == Self.start && end?.end == Self.start + .seconds(29))
        #expect(end?.scte35.map(\.kind) == [.back])
        #expect(next?.id != beginning?.id)

        var listed = PlaylistDateRanges()
        for range in [beginning, end, end].compactMap(\.self) { listed.add(range) }
        #expect(listed.count == 2)
    }

    @Test("the number of breaks whose end is awaited is bounded")
    func bounds() throws {
        var breaks = SpliceDateRanges()
        for event in 0..<100 as Range<UInt8> {
            _ = breaks.range(of: try insert(event, isOut: true), at: Self.start + .seconds(Int64(event)))
        }
        // The first break was forgotten, so that its end is a range of its own.
        let end = breaks.range(of: try insert(0, isOut: false), at: Self.start + .seconds(200))
        #expect(end?.end == nil && end?.start == Self.start + .seconds(200))
        let last = breaks.range(of: try insert(99, isOut: false), at: Self.start + .seconds(200))
        #expect(last?.start == Self.start + .seconds(99))
    }
}
