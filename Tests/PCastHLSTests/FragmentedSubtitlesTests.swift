import PCastCore
import PCastTestSupport
import Testing

@testable import PCastHLS

@Suite("Subtitles in fragmented MP4")
struct FragmentedSubtitlesTests {
    private static func cue(_ start: Int64, _ end: Int64, _ text: String) -> WebVTTSegment.Cue {
        WebVTTSegment.Cue(start: .milliseconds(start), end: .milliseconds(end), text: text)
    }

    @Test("the cues of WebVTT have the times of their samples, and no markup")
    func webVTT() throws {
        let track = try #require(FragmentedSubtitles(initialization: FragmentedSubtitleBuilder.initialization("wvtt")))
        let samples: [FragmentedSubtitleBuilder.Sample] = [
            .init(duration: 500, bytes: FragmentedSubtitleBuilder.empty),
            .init(
                duration: 1_000,
                bytes: FragmentedSubtitleBuilder.cue("<v Roger>Hello &amp; <i>good</i> day\r\nsecond line")),
            .init(duration: 250, bytes: FragmentedSubtitleBuilder.cue("one") + FragmentedSubtitleBuilder.cue("two")),
        ]
        let first = FragmentedSubtitleBuilder.fragment(samples, at: 7_200_000_000)
        let other = FragmentedSubtitleBuilder.fragment(
            [.init(duration: 9, bytes: FragmentedSubtitleBuilder.cue("other"))], at: 0, id: 9)
        let second = FragmentedSubtitleBuilder.fragment(
            [.init(duration: 100, bytes: FragmentedSubtitleBuilder.cue("later"))], at: 7_200_001_750)
        let expected = [
            Self.cue(7_200_000_500, 7_200_001_500, "Hello & good day\nsecond line"),
            Self.cue(7_200_001_500, 7_200_001_750, "one"), Self.cue(7_200_001_500, 7_200_001_750, "two"),
            Self.cue(7_200_001_750, 7_200_001_850, "later"),
        ]
        let segment = FragmentedSubtitleBuilder.box("styp", Array("msdh".utf8)) + first + other + second
        #expect(track.cues(in: segment) == expected)
        // The cues that have arrived of a segment that is still loaded are those at the beginning.
        for count in 0..<segment.count {
            let cues = track.cues(in: Array(segment.prefix(count)))
            #expect(expected.starts(with: cues))
        }
    }

    @Test(
        "the times of cues follow the edit list of their track",
        arguments: [
            ([(0, 200)], 800), ([(300, -1), (0, 200)], 1_300), ([(300, -1), (300, -1), (0, 0)], 2_000),
            ([(0, 1_200)], 0), ([(0, 1_500)], nil), ([(300, -1)], 1_000), ([], 1_000),
        ] as [([(duration: Int, time: Int)], Int64?)])
    func edits(_ edits: [(duration: Int, time: Int)], _ start: Int64?) throws {
        let cue = FragmentedSubtitleBuilder.cue("a")
        let document = "<tt><body><p begin=\"1s\" end=\"1.4s\">a</p></body></tt>"
        for (entry, bytes) in [("wvtt", cue), ("stpp", Array(document.utf8))] {
            let track = try #require(
                FragmentedSubtitles(
                    initialization: FragmentedSubtitleBuilder.initialization(entry, movieScale: 600, edits: edits)))
            let segment = FragmentedSubtitleBuilder.fragment([.init(duration: 400, bytes: bytes)], at: 1_000)
            let end = start.map { $0 == 0 ? 200 : $0 + 400 }
            #expect(track.cues(in: segment) == (start.map { [Self.cue($0, end ?? 0, "a")] } ?? []), "\(entry)")
        }
    }

    @Test("a segment that is still loaded is read once, each fragment when it has arrived")
    func loading() throws {
        let track = try #require(FragmentedSubtitles(initialization: FragmentedSubtitleBuilder.initialization("wvtt")))
        let fragments = (0..<20).map { index in
            FragmentedSubtitleBuilder.fragment(
                [.init(duration: 100, bytes: FragmentedSubtitleBuilder.cue("\(index)"))], at: index * 100)
        }
        let segment = FragmentedSubtitleBuilder.box("styp", Array("msdh".utf8)) + fragments.flatMap(\.self)
        var position = 0
        var texts: [String] = []
        var ends = [FragmentedSubtitleBuilder.box("styp", Array("msdh".utf8)).count]
        for fragment in fragments { ends.append((ends.last ?? 0) + fragment.count) }
        for count in 0...segment.count {
            let before = position
            texts += track.cues(in: Array(segment.prefix(count)), after: &position, isComplete: false).map(\.text)
            #expect(texts.count == ends.dropFirst().count { $0 <= count })
            #expect(position == before || position == count)
        }
        #expect(texts == (0..<20).map { "\($0)" })
        let rest = track.cues(in: segment, after: &position, isComplete: true)
        #expect(rest == [])
        // The samples that arrived of a fragment are read if nothing more follows.
        let broken = Array(segment.dropLast(1)) + FragmentedSubtitleBuilder.box("free")
        position = 0
        let present = track.cues(in: broken, after: &position, isComplete: true)
        #expect(present.count >= 19)
        // A box without a size reaches to the end of the segment, which is not known while it is loaded.
        var endless = fragments[0]
        let data = try #require(endless.firstRange(of: Array("mdat".utf8)))
        endless.replaceSubrange(data.lowerBound - 4..<data.lowerBound, with: [0, 0, 0, 0])
        position = 0
        let loading = track.cues(in: endless, after: &position, isComplete: false)
        #expect(loading == [] && position == 0)
        let loaded = track.cues(in: endless, after: &position, isComplete: true)
        #expect(loaded.map(\.text) == ["0"])
    }

    @Test("subtitles whose data is in several boxes behind their fragment are read once, when all of it has arrived")
    func divided() throws {
        let track = try #require(FragmentedSubtitles(initialization: FragmentedSubtitleBuilder.initialization("wvtt")))
        func samples(_ texts: String...) -> [FragmentedSubtitleBuilder.Sample] {
            texts.map { .init(duration: 100, bytes: FragmentedSubtitleBuilder.cue($0)) }
        }
        let first = FragmentedSubtitleBuilder.fragment(runs: [samples("a", "b"), samples("c"), samples("d")], at: 0)
        let segment = first + FragmentedSubtitleBuilder.fragment(samples("e"), at: 400)
        var position = 0
        var texts: [String] = []
        for count in 0...segment.count {
            let before = position
            texts += track.cues(in: Array(segment.prefix(count)), after: &position, isComplete: false).map(\.text)
            let expected = count < first.count ? 0 : count < segment.count ? 4 : 5
            #expect(texts == Array(["a", "b", "c", "d", "e"].prefix(expected)), "\(count) of \(segment.count) bytes")
            #expect(position == before || position == count)
        }
        // If data does not arrive, the rest is read at the end of the segment, or with the next fragment.
        let whole = track.cues(in: Array(first.dropLast(4)))
        #expect(whole.map(\.text) == ["a", "b", "c"])
        let missing = Array(first.dropLast(FragmentedSubtitleBuilder.box("mdat", samples("d")[0].bytes).count))
        position = 0
        let early = track.cues(in: missing, after: &position, isComplete: false)
        #expect(early == [] && position == 0)
        let late = track.cues(in: missing, after: &position, isComplete: true)
        #expect(late.map(\.text) == ["a", "b", "c"] && position == missing.count)
    }

    @Test("a document of timed text is shown within the time of its sample, with the times of the track")
    func timedText() throws {
        let track = try #require(
            FragmentedSubtitles(
                initialization: FragmentedSubtitleBuilder.initialization("stpp", scale: 90_000, duration: 360_000)))
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- a comment with <p> -->
            <tt xmlns="http://www.w3.org/ns/ttml" xmlns:ttp="http://www.w3.org/ns/ttml#parameter"
                xmlns:tts="http://www.w3.org/ns/ttml#styling" ttp:frameRate="25" ttp:tickRate="10000000" xml:lang="en">
              <head><metadata><ttm:title>A &lt;title&gt;</ttm:title></metadata><styling><style xml:id="s"/></styling></head>
              <body>
                <div begin="00:00:08.000">
                  <p begin="1s" end="00:00:02:05" tts:color="a>b">Hello
                     &amp; <span tts:fontStyle="italic">good</span> day<br/>second &#x3A9;<![CDATA[ <line>]]></p>
                  <p begin="25000000t" dur='500ms'>ticks</p>
                  <p xml:id="x"><metadata>hidden</metadata><span begin="0.5s" end="1s">a</span><span begin="3s">b</span></p>
                  <p begin="100s">after the sample</p>
                </div>
              </body>
            </tt><p>behind the document</p>
            """
        let segment = FragmentedSubtitleBuilder.fragment(
            [.init(duration: 360_000, bytes: Array(text.utf8))], at: 8 * 90_000)
        let cues = track.cues(in: segment)
        #expect(
            cues == [
                Self.cue(9_000, 10_200, "Hello & good day\nsecond Ω <line>"), Self.cue(10_500, 11_000, "ticks"),
                Self.cue(8_500, 9_000, "a"), Self.cue(11_000, 12_000, "b"),
            ])
    }

    @Test("the children of a sequential element follow each other, and a missing end is that of the parent")
    func containers() throws {
        let text = """
            <tt:tt xmlns:tt="http://www.w3.org/ns/ttml" xml:space="preserve"><tt:body end="9s"><tt:div timeContainer="seq">\
            <tt:p dur="2s">a  b</tt:p><tt:p begin="1s" dur="1s">c</tt:p><tt:p>d</tt:p></tt:div></tt:body></tt:tt>
            """
        let document = try #require(TimedTextDocument(Array(text.utf8)[...]))
        func paragraph(_ start: Int64, _ end: Int64, _ text: String) -> TimedTextDocument.Paragraph {
            .init(start: .seconds(start), end: .seconds(end), text: text)
        }
        #expect(
            document.paragraphs == [paragraph(0, 2, "a  b"), paragraph(3, 4, "c"), paragraph(4, 9, "d")])
        let wide: [UInt8] = [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        #expect(TimedTextDocument(wide[...])?.paragraphs == document.paragraphs)
    }

    @Test(
        "a document with false content is read up to the first error",
        arguments: [
            ("", nil), ("WEBVTT", nil), ("<html><p>a</p></html>", nil), ("<!DOCTYPE tt [<!ENTITY a \"b\">]><tt/>", nil),
            ("<tt", nil), ("<tt><body><p>a", 0), ("<tt><p>a</p><p>b</q>", 1), ("<tt><p begin=1s>a</p></tt>", 0),
            ("<tt><p begin=\"99999999999h\">a</p><p dur=\"-1s\">b&bad;</p><p>&#x110000;</p></tt>", 2),
            ("<!DOCTYPE tt><tt><p end=\"1s\">a</p></tt>", 1),
        ])
    func broken(_ text: String, _ count: Int?) {
        #expect(TimedTextDocument(Array(text.utf8)[...])?.paragraphs.count == count)
    }

    @Test("times that sum up to more than a century, deep elements and impossible samples do not trap")
    func limits() throws {
        let deep = String(repeating: "<div begin=\"800000h\">", count: 70)
        #expect(TimedTextDocument(Array("<tt>\(deep)<p>a</p>".utf8)[...])?.paragraphs == [])
        let nested = String(repeating: "<div begin=\"800000h\">", count: 60)
        #expect(TimedTextDocument(Array("<tt>\(nested)<p>a</p>".utf8)[...])?.paragraphs.count == 1)
        let track = try #require(
            FragmentedSubtitles(initialization: FragmentedSubtitleBuilder.initialization("wvtt", scale: 1)))
        let late = FragmentedSubtitleBuilder.fragment(
            [.init(duration: .max, bytes: FragmentedSubtitleBuilder.cue("a"))], at: -1)
        #expect(track.cues(in: late) == [])
        // A run of 2^32 - 1 samples without data.
        let run = FragmentedSubtitleBuilder.box(
            "trun", FragmentedSubtitleBuilder.number(0), FragmentedSubtitleBuilder.number(0xFFFF_FFFF))
        let header = FragmentedSubtitleBuilder.box(
            "tfhd", FragmentedSubtitleBuilder.number(0x18), FragmentedSubtitleBuilder.number(2),
            [0, 0, 0, 1, 0, 0, 0, 0])
        #expect(
            track.cues(in: FragmentedSubtitleBuilder.box("moof", FragmentedSubtitleBuilder.box("traf", header, run)))
                == [])
        #expect(FragmentedSubtitles(initialization: FragmentedSubtitleBuilder.initialization("mp4a")) == nil)
    }
}
