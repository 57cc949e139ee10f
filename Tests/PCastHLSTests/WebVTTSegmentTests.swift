import PCastCore
import Testing

@testable import PCastHLS

@Suite struct WebVTTSegmentTests {
    private static func cue(_ start: Int64, _ end: Int64, _ text: String) -> WebVTTSegment.Cue {
        WebVTTSegment.Cue(start: .milliseconds(start), end: .milliseconds(end), text: text)
    }

    @Test(
        "a segment that is written is read again",
        arguments: [
            [], [(0, 1, "x")], [(3_599_999, 3_600_000, "one\ntwo"), (360_000_001, 400_000_000, "a <b> & c")],
            [(1, 2, "-->"), (1, 2, "00:00.000 --> 00:01.000"), (5, 6, "&lt;<i>é"), (7, 8, "NOTE x")],
        ] as [[(Int64, Int64, String)]])
    func roundTrip(values: [(Int64, Int64, String)]) throws {
        let cues = values.map { Self.cue($0.0, $0.1, $0.2) }
        for offset in [0, 1_400, 95_443_717] as [Int64] {
            let segment = WebVTTSegment(cues: cues, clockOffset: .milliseconds(offset / 100 * 100))
            #expect(try #require(WebVTTSegment(Array(segment.text.utf8))) == segment)
        }
    }

    @Test("empty lines of a cue are left out, and each cue has a duration")
    func cleaning() throws {
        let segment = WebVTTSegment(cues: [Self.cue(5, 5, "\none\n\ntwo\n")])
        #expect(try #require(WebVTTSegment(Array(segment.text.utf8))).cues == [Self.cue(5, 6, "one\ntwo")])
        #expect(
            segment.text
                == "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n00:00:00.005 --> 00:00:00.006\none\ntwo\n\n")
    }

    @Test("of a segment that is still loaded, only complete cues are read")
    func partial() {
        let first = Array(WebVTTSegment(cues: [Self.cue(0, 1, "one"), Self.cue(1, 2, "two")]).text.utf8)
        let all = first + Array(WebVTTSegment(cues: [Self.cue(2, 3, "three")]).text.utf8)
        var counts: Set<Int> = []
        for count in 0...all.count {
            let cues = WebVTTSegment(WebVTTSegment.completePrefix(of: Array(all.prefix(count))))?.cues ?? []
            #expect(["one", "two", "three"].starts(with: cues.map(\.text)))
            counts.insert(cues.count)
        }
        #expect(counts == [0, 1, 2, 3])
        let lines = Array("WEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\nx\r\n\r\n00:0".utf8)
        #expect(WebVTTSegment(WebVTTSegment.completePrefix(of: lines))?.cues.map(\.text) == ["x"])
    }
}
