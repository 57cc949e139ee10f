import PCastMedia
import Testing

@testable import PCastCLI

struct OutputTests {
    @Test("The lines of a status block stand in columns, and none is wider than the terminal")
    func block() {
        let block = StatusBlock(title: "Publishing", rows: [.init("a", "one"), .init("long", "0123456789")])
        #expect(block.lines(width: 80) == ["Publishing", "  a     one", "  long  0123456789"])
        #expect(block.lines(width: 12) == ["Publishing", "  a     one", "  long  012…"])
    }

    @Test("Figures are rounded as people read them, and a dash where nothing was measured")
    func figures() {
        #expect(Figure.bitrate(64_200) == "64 kbit/s")
        #expect(Figure.bitrate(2_480_000) == "2.48 Mbit/s")
        #expect(Figure.bitrate(nil) == "–")
        #expect(Figure.milliseconds(1.24) == "1.2 ms")
        #expect(Figure.milliseconds(124.4) == "124 ms")
        #expect(Figure.percent(1, of: 8) == "12.5 %")
        #expect(Figure.percent(0, of: 0) == "–")
        #expect(TimeSpan.milliseconds(62_999).clockText == "01:02")
        #expect(TimeSpan.seconds(36_061).clockText == "10:01:01")
    }

    @Test("A watch link holds its stream and token whatever they are made of")
    func link() {
        #expect(
            WatchLink.text(platform: "http://h:1/", stream: "eu#a/b", token: nil) == "http://h:1/watch/eu%23a%2Fb")
        #expect(
            WatchLink.text(platform: "http://h:1", stream: "s", token: "DIGEST:a+/=")
                == "http://h:1/watch/s#token=DIGEST%3Aa%2B%2F%3D")
    }
}
