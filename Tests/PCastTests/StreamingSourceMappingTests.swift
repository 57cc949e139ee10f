import Testing

@testable import PCast

@Suite struct StreamingSourceMappingTests {
    private static let playlist = "https://phenixrts.com/video/us/stream/live.m3u8?token=1"

    @Test(
        "the first match in an address is replaced",
        arguments: [
            (
                #"https:\/\/phenixrts\.com\/video"#, "https://myown.cdn.com",
                "https://myown.cdn.com/us/stream/live.m3u8?token=1"
            ),
            // Only the first match counts, and the replacement is literal.
            ("s", "$0", "http$0://phenixrts.com/video/us/stream/live.m3u8?token=1"),
            (#"\?.*$"#, "", "https://phenixrts.com/video/us/stream/live.m3u8"),
            ("nowhere", "https://elsewhere", playlist),
            ("^https", "http", "http://phenixrts.com/video/us/stream/live.m3u8?token=1"),
        ])
    func replacesFirstMatch(pattern: String, replacement: String, expected: String) throws {
        let mapping = try StreamingSourceMapping(patternToReplace: pattern, replacement: replacement)
        #expect(mapping.apply(to: Self.playlist) == expected)
    }

    @Test(
        "an invalid mapping is a bad request at once",
        arguments: [
            ("", "x"), ("(", "x"), ("[a", "x"), (".*", "x"), ("a?", "x"), ("a", "two words"), ("a", "x\r\ny"),
        ])
    func invalidMapping(pattern: String, replacement: String) {
        #expect {
            try StreamingSourceMapping(patternToReplace: pattern, replacement: replacement)
        } throws: { ($0 as? PCastError)?.status == .badRequest }
    }
}
