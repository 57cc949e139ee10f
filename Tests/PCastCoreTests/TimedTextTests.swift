import PCastCore
import Testing

@Suite("Caption files")
struct TimedTextTests {
    @Test("A WebVTT file is read without its notes, styles, identifiers, settings and markup")
    func webVTT() throws {
        let file = try TimedText(
            parsing: """
                \u{FEFF}WEBVTT - A title
                X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0

                STYLE
                ::cue { color: red }

                NOTE
                A note.

                second
                00:02.000 --> 00:03.500 line:0 align:start
                <v Ann>One &amp; <b>two</b> &lt;3 &#x21;</v>
                <00:03.000>three &unknown; &

                1:00:00.250 --> 1:00:01.000
                Late

                00:01.000 --> 00:02.000
                First
                """)
        #expect(
            file.cues == [
                .init(begin: .seconds(1), duration: .seconds(1), text: "First"),
                .init(begin: .seconds(2), duration: .milliseconds(1_500), text: "One & two <3 !\nthree &unknown; &"),
                .init(begin: .milliseconds(3_600_250), duration: .milliseconds(750), text: "Late"),
            ])
    }

    @Test("A SubRip file is read, whatever ends its lines", arguments: ["\n", "\r\n", "\r"])
    func subRip(newline: String) throws {
        let lines = [
            "1", "00:00:01,000 --> 00:00:02,5", "{\\an8}<i>One</i> < two & <script>", "three", "", "", "2",
            "00:01:00.000 --> 00:01:01.000", "<font color=\"red\">End</font> {brace}", "",
            "3", "00:01:02,000 --> 00:01:03,000", "<b></b>",
        ]
        #expect(
            try TimedText(parsing: lines.joined(separator: newline)).cues == [
                .init(begin: .seconds(1), duration: .milliseconds(1_500), text: "One < two & <script>\nthree"),
                .init(begin: .seconds(60), duration: .seconds(1), text: "End {brace}"),
            ])
    }

    @Test(
        "An unreadable file is refused with its line",
        arguments: [
            ("", 1, TimedTextError.Problem.noCues), ("WEBVTT\n\nnothing", 1, .noCues),
            ("1\n00:00:01 -> 00:00:02\nno arrow", 1, .noCues),
            ("1\n00:00:01,000 --> 00:61:02,000\nx", 2, .unreadableTimes("00:00:01,000 --> 00:61:02,000")),
            ("WEBVTT\n\n00:02.000 --> 00:01.000\nx", 3, .endsBeforeBeginning),
            ("WEBVTT\n\n00:01.000 --> 00:01.000\nx", 3, .endsBeforeBeginning),
            ("WEBVTT\n\n00:00.000 --> 10:00.001\nx", 3, .tooLong),
            ("WEBVTT\n\n00:00.000 -->\nx", 3, .unreadableTimes("00:00.000 -->")),
            ("WEBVTT\n\n-1:00.000 --> 00:00.000\nx", 3, .unreadableTimes("-1:00.000 --> 00:00.000")),
        ])
    func refused(text: String, line: Int, problem: TimedTextError.Problem) throws {
        do throws(TimedTextError) {
            _ = try TimedText(parsing: text)
            Issue.record("it was read")
        } catch {
            #expect(error.line == line && error.problem == problem)
        }
    }

    @Test("A text is brought within the limits of a caption")
    func fitting() throws {
        #expect(CaptionCue.fitting("  a\tb\u{7}\r\n\n c ") == "a b\nc ")
        #expect(CaptionCue.fitting(" \n\u{0}\n") == nil)
        #expect(CaptionCue.fitting((1...20).map { "\($0)" }.joined(separator: "\n"))?.hasSuffix("\n8") == true)
        let long = try #require(CaptionCue.fitting(String(repeating: "é", count: 5_000)))
        #expect(long.utf8.count == CaptionCue.maximumTextSize)
        for text in ["a b\nc ", long] { #expect(cue(text).problem == nil) }
    }

    @Test("A caption beyond the limits has a problem that says which")
    func problems() {
        #expect(cue("x").problem == nil)
        #expect(cue(" \n").problem?.contains("no text") == true)
        #expect(cue("a\u{1B}[2J").problem?.contains("control character") == true)
        #expect(cue("a\rb").problem?.contains("control character") == true)
        #expect(cue(String(repeating: "x", count: 1_025)).problem?.contains("1025 bytes") == true)
        #expect(cue(String(repeating: "x\n", count: 8) + "x").problem?.contains("9 lines") == true)
        #expect(cue("x", .zero).problem?.contains("1 ms to 600 s") == true)
        #expect(cue("x", .milliseconds(600_001)).problem?.contains("1 ms to 600 s") == true)
    }

    private func cue(_ text: String, _ duration: Duration = .seconds(1)) -> CaptionCue {
        CaptionCue(text: text, captureTime: WallTime(millisecondsSinceEpoch: 0), duration: duration)
    }
}

@Suite("Captions by the capture time of a frame")
struct CaptionGateTests {
    private static let origin = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
    private var gate = CaptionGate()

    private static func at(_ milliseconds: Int64) -> WallTime { origin + .milliseconds(milliseconds) }

    private mutating func add(_ text: String, _ begin: Int64, _ end: Int64) {
        gate.add(
            CaptionCue(text: text, captureTime: Self.at(begin), duration: .milliseconds(end - begin)))
    }

    private func text(_ milliseconds: Int64) -> String? { gate.text(at: Self.at(milliseconds)) }

    @Test("A cue is shown from the frame of its capture time to the last one before its end")
    mutating func bounds() {
        #expect(text(0) == nil)
        add("a", 1_000, 2_000)
        #expect(text(999) == nil && text(1_000) == "a" && text(1_999) == "a" && text(2_000) == nil)
    }

    @Test("A viewer that is behind sees the text that belongs to its frame")
    mutating func behind() {
        add("a", 1_000, 2_000)
        add("b", 31_000, 32_000)
        // One viewer displays the frame of 31 s, and another one that of 1 s, at the same moment.
        #expect(text(31_000) == "b" && text(1_500) == "a" && text(30_000) == nil)
    }

    @Test("Overlapping cues stand one below the other, in the order of their capture times")
    mutating func overlap() {
        add("b", 1_500, 3_000)
        add("a", 1_000, 2_000)
        #expect(text(1_200) == "a" && text(1_700) == "a\nb" && text(2_500) == "b")
    }

    @Test("A repeated cue is shown once")
    mutating func repeated() {
        add("a", 1_000, 2_000)
        add("a", 1_000, 2_000)
        #expect(gate.cues.count == 1 && text(1_000) == "a")
    }

    @Test("The next change is the next beginning or end")
    mutating func changes() {
        add("a", 1_000, 2_000)
        add("b", 1_500, 3_000)
        var time = Self.at(0)
        var changes: [WallTime] = []
        while let next = gate.change(after: time) {
            changes.append(next)
            time = next
        }
        #expect(changes == [1_000, 1_500, 2_000, 3_000].map(Self.at))
    }

    @Test("The earliest cues are removed beyond the capacity, and those that have ended when they are asked to be")
    mutating func capacity() {
        let count = Int64(CaptionGate.capacity)
        for number in (0..<count + 10).reversed() { add("\(number)", number * 100, number * 100 + 100) }
        #expect(gate.cues.count == CaptionGate.capacity)
        #expect(text(900) == nil && text(1_000) == "10" && text((count + 9) * 100) == "\(count + 9)")
        gate.removeAll(endedBefore: Self.at((count + 9) * 100))
        #expect(gate.cues.map(\.text) == ["\(count + 8)", "\(count + 9)"])
    }
}
