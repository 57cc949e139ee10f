import ArgumentParser
import Foundation
import Logging
import PCastCore
import PCastJSON
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

struct EventLineTests {
    @Test("an event is one line, its name and time first, with escaped content")
    func escaping() {
        let line = EventLine(
            name: "ended", time: WallTime(millisecondsSinceEpoch: 1_785_585_600_007),
            fields: ["reason": .string("custom"), "description": .string("a \"b\"\n\\ \u{1} é/"), "code": .count(7)])
        #expect(
            line.text == #"{"event":"ended","time":"2026-08-01T12:00:00.007Z","reason":"custom","#
                + #""description":"a \"b\"\n\\ \u0001 é/","code":7}"#)
        #expect(!line.text.contains("\n"))
    }

    @Test(
        "times are UTC in ISO 8601 with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_000, "1970-01-01T00:00:01.000Z"),
        ])
    func times(_ milliseconds: Int64, _ text: String) {
        #expect(WallTime(millisecondsSinceEpoch: milliseconds).timestampText == text)
    }

    @Test(
        "the start time of a stream is clamped, because a platform may send any number",
        arguments: [
            ("9000000000000000000", "2255-03-14T16:00:00.000Z"), ("-9000000000000000000", "1684-10-19T08:00:00.000Z"),
            ("1785585600007", "2026-08-01T12:00:00.007Z"),
        ])
    func startTimes(_ milliseconds: String, _ text: String) throws {
        let json = #"{"streamId":"a","startTime":\#(milliseconds)}"#
        let stream = try JSONDecoder().decode(PlatformAdministration.Stream.self, from: Data(json.utf8))
        #expect(stream.startTimeText == text)
        #expect(stream.videoText == nil)
    }

    @Test("a stream is listed with the size and the codec string of its video")
    func video() throws {
        let json = #"{"streamId":"a","width":1280,"height":720,"video":{"codecString":"avc1.64001f","profile":"High"}}"#
        let stream = try JSONDecoder().decode(PlatformAdministration.Stream.self, from: Data(json.utf8))
        #expect(stream.videoText == "1280x720 avc1.64001f" && stream.startTimeText == nil)
    }

    @Test("an unknown or infinite metric is null")
    func unknown() {
        #expect(JSONValue.figure(nil) == .null)
        #expect(JSONValue.figure(.nan) == .null)
        #expect(JSONValue.measured(.infinity) == .null)
        #expect(JSONValue.measured(1.23456).text == "1.235")
        #expect(JSONValue.count(UInt64(12)).text == "12")
    }
}

struct VerbosityTests {
    private func options(_ arguments: String...) throws -> OutputOptions { try OutputOptions.parse(arguments) }

    @Test("each -v lowers the log level, --quiet raises it, and --log-level has precedence over both")
    func flags() throws {
        let expected: [([String], Logger.Level?, Bool)] = [
            ([], nil, false), (["-v"], .info, false), (["-vv"], .debug, false),
            (["-v", "--verbose", "-v"], .trace, false),
            (["--quiet"], .error, true), (["-q", "--log-level", "debug"], .debug, true),
            (["-vv", "--log-level", "WARNING"], .warning, false),
        ]
        for (arguments, level, isQuiet) in expected {
            let verbosity = try OutputOptions.parse(arguments).verbosity
            #expect(verbosity.level == level && verbosity.isQuiet == isQuiet, "\(arguments)")
        }
    }

    @Test("--quiet with --verbose, and an unknown level, are errors")
    func invalid() {
        for arguments in [["-q", "-v"], ["--log-level", "loud"], ["--log-level"]] {
            #expect(throws: (any Error).self) { try OutputOptions.parse(arguments) }
        }
    }

    @Test("the command line replaces the settings of the environment and the configuration file")
    func precedence() throws {
        let file = try ConfigurationFile(text: "serve:\n  verbose: 2\n", path: "pcast.yaml")
        func settings(_ environment: [String: String]) -> Settings {
            Settings(command: "serve", environment: environment, file: file)
        }
        #expect(try options().verbosity(settings([:])).level == .debug)
        #expect(try options().verbosity(settings(["PCAST_SERVE_LOG_LEVEL": "error"])).level == .error)
        #expect(try options().verbosity(settings(["PCAST_SERVE_QUIET": "true", "PCAST_SERVE_VERBOSE": "0"])).isQuiet)
        #expect(try options("-v").verbosity(settings(["PCAST_SERVE_LOG_LEVEL": "error"])).level == .info)
        #expect(try !options("-v").verbosity(settings(["PCAST_SERVE_QUIET": "true"])).isQuiet)
        #expect(throws: CommandFailure.self) {
            try options().verbosity(settings(["PCAST_SERVE_LOG_LEVEL": "loud"]))
        }
    }

    @Test("a log line stays one line, whatever its text contains")
    func escaping() {
        let line = ConsoleLogHandler.line("stream=a\nforged \u{1B}[31m\u{7}\u{9B}2J\u{202E}")
        #expect(line == #"stream=a\nforged \u{1B}[31m\u{7}\u{9B}2J\u{202E}"#)
    }
}
