import Glibc
import PCastCore
import PCastHLS
import Testing

@Suite("Broken and hostile playlists result in an error with advice")
struct BrokenPlaylistTests {
    private static let head = "#EXT-X-TARGETDURATION:4\n"

    @Test(
        "an invalid media playlist is an error",
        arguments: [
            ("", .missingTag("EXT-X-TARGETDURATION")),
            ("#EXT-X-TARGETDURATION:x", .malformedTag("EXT-X-TARGETDURATION", line: 2)),
            (head + "#EXTINF:-1,\na", .malformedTag("EXTINF", line: 3)),
            (head + "#EXTINF:1e3,\na", .malformedTag("EXTINF", line: 3)),
            (head + "#EXTINF:99999999999999999999,\na", .malformedTag("EXTINF", line: 3)),
            (head + "a", .segmentWithoutDuration(line: 3)),
            (head + "#EXTINF:1,\na\nb", .segmentWithoutDuration(line: 5)),
            (
                head + "#EXT-X-MEDIA-SEQUENCE:9223372036854775807",
                .malformedTag("EXT-X-MEDIA-SEQUENCE", line: 3)
            ),
            (
                head + "#EXTINF:1,\na\n#EXT-X-MEDIA-SEQUENCE:1",
                .malformedTag("EXT-X-MEDIA-SEQUENCE", line: 5)
            ),
            (head + "#EXT-X-BYTERANGE:9223372036854775807@1", .malformedTag("EXT-X-BYTERANGE", line: 3)),
            (head + "#EXT-X-KEY:METHOD=AES-128", .missingAttribute("URI", tag: "EXT-X-KEY", line: 3)),
            (head + "#EXT-X-KEY:URI=\"k\"", .missingAttribute("METHOD", tag: "EXT-X-KEY", line: 3)),
            (
                head + "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0xZZ",
                .malformedAttribute("IV", tag: "EXT-X-KEY", line: 3)
            ),
            (
                head + "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x" + String(repeating: "0", count: 33),
                .malformedAttribute("IV", tag: "EXT-X-KEY", line: 3)
            ),
            (
                head + "#EXT-X-KEY:METHOD=NONE,METHOD=AES-128",
                .malformedAttribute("METHOD", tag: "EXT-X-KEY", line: 3)
            ),
            (head + "#EXT-X-MAP:URI=\"a", .malformedAttribute("URI", tag: "EXT-X-MAP", line: 3)),
            (head + "#EXT-X-MAP:URI", .malformedTag("EXT-X-MAP", line: 3)),
            (head + "#EXT-X-PART:URI=\"a\"", .missingAttribute("DURATION", tag: "EXT-X-PART", line: 3)),
            (head + "#EXT-X-PART:URI=\"a\",DURATION=1,BYTERANGE=\"5\"", .byteRangeWithoutStart(line: 3)),
            (head + "#EXT-X-STREAM-INF:BANDWIDTH=1\na", .mixedKinds(line: 3)),
            ("#EXT-X-VERSION:14", .unsupportedVersion(14)),
            (head + "#EXTINF:1,\n{$x}.ts", .undefinedVariable("x", line: 4)),
            ("#EXT-X-DEFINE:IMPORT=\"x\"", .undefinedVariable("x", line: 2)),
            ("#EXT-X-DEFINE:QUERYPARAM=\"x\"", .undefinedVariable("x", line: 2)),
            (
                "#EXT-X-DEFINE:NAME=\"x\",VALUE=\"1\"\n#EXT-X-DEFINE:NAME=\"x\",VALUE=\"1\"",
                .variableDefinedTwice("x", line: 3)
            ),
            (
                "#EXT-X-DEFINE:NAME=\"x\",VALUE=\"{\"\n" + head + "#EXTINF:1,\n{$x}$x}",
                .nestedVariable(line: 5)
            ),
            (head + "#EXTINF:1,\na\u{1}b", .controlCharacter(line: 4)),
            (head + "#EXTINF:1,a\rb\nc", .controlCharacter(line: 3)),
            (head + "#EXT-X-SKIP:SKIPPED-SEGMENTS=3", .skippedSegmentsUnknown(first: 0, count: 3)),
        ] as [(String, PlaylistError)])
    func wrong(text: String, error: PlaylistError) {
        #expect(throws: error) { try media(text) }
        #expect(error.description.contains(";") && error.description.count > 30)
    }

    @Test(
        "an invalid multivariant playlist is an error",
        arguments: [
            (
                "#EXT-X-STREAM-INF:CODECS=\"a\"\na",
                .missingAttribute("BANDWIDTH", tag: "EXT-X-STREAM-INF", line: 2)
            ),
            ("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"g\",NAME=\"a\"", .missingTag("EXT-X-STREAM-INF")),
            ("#EXT-X-STREAM-INF:BANDWIDTH=1", .variantWithoutURI(line: 2)),
            ("#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXT-X-VERSION:3\na", .variantWithoutURI(line: 2)),
            (
                "#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=1x\na",
                .malformedAttribute("RESOLUTION", tag: "EXT-X-STREAM-INF", line: 2)
            ),
            (
                "#EXT-X-MEDIA:TYPE=AUDIO,NAME=\"a\"",
                .missingAttribute("GROUP-ID", tag: "EXT-X-MEDIA", line: 2)
            ),
            ("#EXT-X-MEDIA:TYPE=AUDIO,NAME=\"a\",GROUP-ID=\"g\"\n#EXT-X-ENDLIST", .mixedKinds(line: 3)),
        ] as [(String, PlaylistError)])
    func wrongVariants(text: String, error: PlaylistError) {
        #expect(throws: error) { try multivariant(text) }
    }

    @Test("other text is an error")
    func noPlaylist() {
        #expect(throws: PlaylistError.notAPlaylist) { try HLSPlaylist([]) }
        #expect(throws: PlaylistError.notAPlaylist) { try HLSPlaylist(Array("<html>404</html>".utf8)) }
        #expect(throws: PlaylistError.notAPlaylist) { try HLSPlaylist(Array("\u{FEFF}#EXTM3U\n".utf8)) }
        #expect(throws: PlaylistError.notUTF8) { try HLSPlaylist([0x23, 0xFF, 0xFE]) }
        #expect(throws: PlaylistError.lineTooLong(line: 2)) {
            try HLSPlaylist(
                Array(("#EXTM3U\n" + String(repeating: "x", count: PlaylistLimits.lineSize + 1)).utf8))
        }
        #expect(throws: PlaylistError.tooLarge) {
            try HLSPlaylist([UInt8](repeating: 0x0A, count: PlaylistLimits.textSize + 1))
        }
    }

    @Test("the number of elements is limited")
    func counts() {
        func repeated(_ line: String, _ count: Int) -> String {
            Self.head + (0..<count).map { line.replacing("%", with: String($0)) + "\n" }.joined()
        }
        func refusal(_ text: String) -> PlaylistError? {
            do {
                _ = try MediaPlaylist("#EXTM3U\n" + text)
                return nil
            } catch { return error }
        }
        #expect(refusal(repeated("#EXTINF:1,\na", 100_001)) == .tooMany(.segments, line: 200_004))
        #expect(refusal(repeated("#EXTINF:1,\na", 100_000)) == nil)
        #expect(
            refusal(repeated("#EXT-X-PART:URI=\"a\",DURATION=1", 100_001))
                == .tooMany(.parts, line: 100_003))
        #expect(
            refusal(repeated("#EXT-X-DEFINE:NAME=\"a%\",VALUE=\"\"", 1_001))
                == .tooMany(.variables, line: 1_003))
        #expect(
            refusal(repeated("#EXT-X-KEY:METHOD=X,URI=\"a\",KEYFORMAT=\"%\"", 17))
                == .tooMany(.keys, line: 19))
        #expect(
            refusal(repeated("#EXT-X-DATERANGE:ID=\"%\",START-DATE=\"2026-01-01T00:00:00Z\"", 10_001))
                == .tooMany(.dateRanges, line: 10_003))
        #expect(refusal(repeated("#EXTINF:86400,\na", 3_661)) == .tooLong)
    }

    @Test("a range with many attributes or many tags takes no longer than others of its size")
    func manyAttributes() throws {
        let begin = #"START-DATE="2026-01-01T00:00:00Z""#
        let wide = { (size: Int) in
            let attributes = (0..<size).map { ",X-A\(10_000 + $0)=1" }.joined()
            return (0..<200).map { #"#EXT-X-DATERANGE:ID="\#($0)",\#(begin)\#(attributes)"# + "\n" }.joined()
        }
        let long = { (size: Int) in
            #"#EXT-X-DATERANGE:ID="a",\#(begin)"# + "\n"
                + (0..<size).map { #"#EXT-X-DATERANGE:ID="a",X-A\#(1_000_000 - $0)=1"# + "\n" }.joined()
        }
        for (text, size, count) in [(wide, 5_000, 200), (long, 100_000, 1)] {
            let (playlist, time) = try Self.parse(text(size))
            let timeOfEighth = try Self.parse(text(size / 8)).time
            // A linear search for each attribute would take 64 times as long.
            #expect(time < timeOfEighth * 24)
            #expect(playlist.dateRanges.count == count)
            // Attributes with further names are omitted.
            #expect(playlist.dateRanges[0].attributes.count == 256)
            let names = playlist.dateRanges[0].attributes.map(\.name)
            #expect(names == names.sorted())
        }
    }

    /// Parses the tags of a playlist, and returns the processor time that this took.
    private static func parse(_ tags: String) throws -> (playlist: MediaPlaylist, time: Duration) {
        let whole = "#EXTM3U\n" + Self.head + tags
        let start = Self.processorTime()
        let playlist = try MediaPlaylist(whole)
        return (playlist, Self.processorTime() - start)
    }

    /// Returns the processor time of this thread. Other tests that run at the same time do not count.
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test("a later tag of a range has priority, also if one tag is invalid")
    func laterAttributes() throws {
        let text = """
            #EXT-X-DATERANGE:ID="a",START-DATE="2026-01-01T00:00:00Z",X-B=1,X-A=2
            #EXT-X-DATERANGE:ID="a",X-B=3,DURATION=x
            #EXT-X-DATERANGE:ID="a",X-C="4",X-A=5
            """
        let range = try #require(try MediaPlaylist("#EXTM3U\n" + Self.head + text + "\n").dateRanges.first)
        #expect(
            range.attributes == [
                .init("X-A", .unquoted("5")), .init("X-B", .unquoted("1")), .init("X-C", .quoted("4")),
            ])
    }

    @Test("a long variable with many uses does not exhaust the memory")
    func expansion() {
        let value = String(repeating: "x", count: 60_000)
        let text =
            "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n" + Self.head
            + String(repeating: "#EXTINF:1,\n{$a}\n", count: 300)
        #expect(throws: PlaylistError.tooLarge) { try MediaPlaylist(text) }
        #expect(throws: PlaylistError.lineTooLong(line: 5)) {
            try MediaPlaylist(
                "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n" + Self.head
                    + "#EXTINF:1,\n{$a}{$a}")
        }
    }
}
