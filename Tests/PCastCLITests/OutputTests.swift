import PCastCore
import Testing

@testable import PCast
@testable import PCastCLI

struct OutputTests {
    @Test("the lines of a status block have columns, and none is wider than the terminal")
    func block() {
        let block = StatusBlock(title: "Publishing", rows: [.init("a", "one"), .init("long", "0123456789")])
        #expect(block.lines(width: 80) == ["Publishing", "  a     one", "  long  0123456789"])
        #expect(block.lines(width: 12) == ["Publishing", "  a     one", "  long  012…"])
    }

    @Test("metrics are rounded for display, and a dash means no measurement")
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

    @Test("a publisher without viewers is idle and has no zero rates; its event has the same names")
    func idle() {
        var statistics = PublisherStatistics()
        (statistics.hasSubscribers, statistics.framesEncoded) = (false, 12)
        func sending() -> String? {
            PublishMetrics.block(
                statistics, nil, elapsed: .seconds(3), link: .online, quality: DataQuality(status: .all, reason: .none)
            ).rows.first { $0.label == "sending" }?.value
        }
        #expect(sending() == "idle without subscribers")
        let idle = PublishMetrics.line(statistics, elapsed: .seconds(10))
        #expect(idle.hasPrefix("00:10  idle without subscribers, 12 frames"))
        #expect(!idle.contains("kbit/s"))
        let names = PublishMetrics.fields(statistics, nil).map(\.key)
        #expect(names.contains("bitrate") && names.contains("targetBitrate") && names.contains("hasSubscribers"))
        (statistics.hasSubscribers, statistics.bitrate, statistics.targetBitrate) = (true, 812_000, 1_200_000)
        #expect(sending() == "812 kbit/s, video target 1.20 Mbit/s")
    }

    @Test("untrusted text cannot control the terminal") func controls() {
        #expect(
            Console.sentence("a\u{1B}]0;title\u{7}\n\tb\u{9B}2J\r\u{202E}")
                == "a\\u{1B}]0;title\\u{7}\n\tb\\u{9B}2J\\r\\u{202E}")
    }

    @Test("a watch link contains its stream and token for all their characters")
    func link() {
        #expect(
            WatchLink.text(platform: "http://h:1/", stream: "eu#a/b", token: nil) == "http://h:1/watch/eu%23a%2Fb")
        #expect(
            WatchLink.text(platform: "http://h:1", stream: "s", token: "DIGEST:a+/=")
                == "http://h:1/watch/s#token=DIGEST%3Aa%2B%2F%3D")
    }
}
