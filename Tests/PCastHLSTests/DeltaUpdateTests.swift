import PCastCore
import PCastHLS
import PCastTestSupport
import Testing

@Suite("Delta updates")
struct DeltaUpdateTests {
    private static let control = "#EXT-X-TARGETDURATION:6\n#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=36\n"

    /// Returns segments of 6 s with the given numbers, with extra lines before some.
    private func segments(_ numbers: Range<Int>, _ extra: [Int: String] = [:]) -> String {
        numbers.map { (extra[$0].map { $0 + "\n" } ?? "") + "#EXTINF:6,\n\($0).ts\n" }.joined()
    }

    @Test("an updated playlist equals the full playlist, for all changes", arguments: UInt64(1)...20)
    func merged(seed: UInt64) throws {
        var server = LiveServer(seed: seed, count: 40)
        server.window = 20
        var generator = SeededGenerator(seed: seed)
        var known = try MediaPlaylist(server.playlist(at: .seconds(30 as Int64)).text)
        var time = TimeSpan.seconds(30 as Int64)
        var skipped = 0
        while time < server.end {
            time += .milliseconds(Int64.random(in: 300...7_000, using: &generator))
            let whole = server.playlist(at: time)
            let update = whole.deltaUpdate
            skipped += update.contains("#EXT-X-SKIP") ? 1 : 0
            known = try MediaPlaylist(update, updating: known)
            #expect(try MediaPlaylist(whole.text) == known)
        }
        #expect(known.isComplete && skipped > 10)
    }

    @Test("a discontinuity that is skipped still counts (hls.js 6949, 7282)")
    func skippedDiscontinuity() throws {
        let whole = try media(Self.control + segments(0..<12, [2: "#EXT-X-DISCONTINUITY"]))
        let update = Self.control + "#EXT-X-SKIP:SKIPPED-SEGMENTS=6\n" + segments(6..<13)
        let merged = try media(update, updating: whole)
        #expect(merged.segments.map(\.discontinuity) == [0, 0] + Array(repeating: 1, count: 11))
        #expect(merged.segments.map(\.number) == Array(0..<13))
    }

    @Test("the discontinuity sequence may follow the skip (hls.js 7554)")
    func lateDiscontinuitySequence() throws {
        let header = Self.control + "#EXT-X-MEDIA-SEQUENCE:1\n"
        let whole = try media(
            header + "#EXT-X-DISCONTINUITY-SEQUENCE:4\n" + segments(1..<12, [3: "#EXT-X-DISCONTINUITY"]))
        let update =
            header + "#EXT-X-SKIP:SKIPPED-SEGMENTS=5\n#EXT-X-DISCONTINUITY-SEQUENCE:4\n"
            + segments(6..<13, [12: "#EXT-X-DISCONTINUITY"])
        let merged = try media(update, updating: whole)
        #expect(merged.discontinuitySequence == 4)
        #expect(merged.segments.map(\.discontinuity) == [4, 4] + Array(repeating: 5, count: 9) + [6])
    }

    @Test("a skipped key, initialization, bit rate and byte range apply to later segments")
    func skippedState() throws {
        let tags = """
            #EXT-X-KEY:METHOD=AES-128,URI="k"
            #EXT-X-MAP:URI="init.mp4"
            #EXT-X-BITRATE:900
            """
        let whole = try media(Self.control + segments(0..<12, [1: tags]))
        let update = Self.control + "#EXT-X-SKIP:SKIPPED-SEGMENTS=6\n" + segments(6..<13)
        let last = try #require(try media(update, updating: whole).segments.last)
        #expect(last.keys.map(\.uri) == ["k"] && last.initialization?.uri == "init.mp4")
        #expect(last.kilobitsPerSecond == 900)

        let range = "#EXTINF:6,\n#EXT-X-BYTERANGE:10%\na\n"
        let ranges = try media(
            Self.control + range.replacing("%", with: "@0")
                + String(repeating: range.replacing("%", with: ""), count: 9))
        let later = try media(
            Self.control + "#EXT-X-SKIP:SKIPPED-SEGMENTS=10\n" + range.replacing("%", with: ""), updating: ranges)
        #expect(later.segments.last?.byteRange == ByteRange(offset: 100, length: 10))
    }

    @Test("an update to an unknown playlist requests the full one")
    func unknown() throws {
        let update = Self.control + "#EXT-X-MEDIA-SEQUENCE:10\n#EXT-X-SKIP:SKIPPED-SEGMENTS=6\n" + segments(16..<20)
        let expected = PlaylistError.skippedSegmentsUnknown(first: 10, count: 6)
        #expect(expected.description.contains("without _HLS_skip"))
        #expect(throws: expected) { try media(update) }
        // The known playlist begins later, or ends earlier.
        for (begin, count) in [(11, 12), (0, 15)] {
            let known = try media(
                Self.control + "#EXT-X-MEDIA-SEQUENCE:\(begin)\n" + segments(begin..<begin + count))
            #expect(throws: expected) { try media(update, updating: known) }
        }
        let known = try media(Self.control + "#EXT-X-MEDIA-SEQUENCE:4\n" + segments(4..<16))
        #expect(try media(update, updating: known).segments.map(\.uri) == (10..<20).map { "\($0).ts" })
    }

    @Test("date ranges remain until they are removed, if the server may skip them")
    func dateRanges() throws {
        func range(_ id: String, _ more: String = "") -> String {
            "#EXT-X-DATERANGE:ID=\"\(id)\",START-DATE=\"2026-01-01T00:00:00Z\"\(more)\n"
        }
        for skips in [true, false] {
            let control = Self.control.replacing("36", with: skips ? "36,CAN-SKIP-DATERANGES=YES" : "36")
            let whole = try media(control + segments(0..<12) + range("a") + range("b") + range("c"))
            let skip = "#EXT-X-SKIP:SKIPPED-SEGMENTS=6,RECENTLY-REMOVED-DATERANGES=\"x\tb\"\n"
            let update = control + skip + segments(6..<13) + range("d") + "#EXT-X-DATERANGE:ID=\"a\",DURATION=5\n"
            let merged = try media(update, updating: whole)
            #expect(merged.dateRanges.map(\.id) == (skips ? ["c", "d", "a"] : ["d"]))
            if skips { #expect(merged.dateRanges[2].duration == seconds(5)) }
        }
    }

    private static let skipping =
        "#EXT-X-TARGETDURATION:6\n#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=36,CAN-SKIP-DATERANGES=YES\n"
    private static let dateRange = "#EXT-X-DATERANGE:START-DATE=\"2026-01-01T00:00:00Z\",ID=\"%\",X-A%=\""

    @Test("attributes that updates add to a date range are limited")
    func growingDateRange() throws {
        var known = try media(Self.skipping + segments(0..<12))
        for number in 0..<400 {
            let line =
                Self.dateRange.replacing("ID=\"%\"", with: "ID=\"a\"").replacing("%", with: "\(number)") + "v\"\n"
            known = try media(
                Self.skipping + "#EXT-X-SKIP:SKIPPED-SEGMENTS=6\n" + line + segments(6..<12), updating: known)
        }
        let range = try #require(known.dateRanges.first)
        #expect(known.dateRanges.count == 1)
        #expect(range.attributes.count == 256)
    }

    @Test("date ranges that updates add use a limited number of bytes, and the newest are kept")
    func growingDateRanges() throws {
        var known = try media(Self.skipping + segments(0..<12))
        let value = String(repeating: "v", count: 60_000)
        for number in 0..<150 {
            let line = Self.dateRange.replacing("%", with: "\(number)") + value + "\"\n"
            known = try media(
                Self.skipping + "#EXT-X-SKIP:SKIPPED-SEGMENTS=6\n" + line + segments(6..<12), updating: known)
        }
        #expect(known.dateRanges.last?.id == "149")
        let size = known.dateRanges.flatMap(\.attributes).reduce(0) { $0 + $1.value.text.utf8.count }
        #expect(size > 3 << 20 && size <= 4 << 20)
    }
}
