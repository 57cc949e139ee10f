import Foundation
import PCastCore
import Testing

@Suite struct TimeTests {
    @Test("time spans are calculated in nanoseconds")
    func nanosecondArithmetic() {
        #expect(TimeSpan.milliseconds(3).nanoseconds == 3_000_000)
        #expect(TimeSpan.seconds(2) - .microseconds(5) == .nanoseconds(1_999_995_000))
        #expect(TimeSpan.milliseconds(-7).magnitude == .milliseconds(7))
        #expect(-TimeSpan.milliseconds(7) == .milliseconds(7) * -1)
        #expect(TimeSpan.milliseconds(7) / 2 == .microseconds(3500))
        #expect(TimeSpan(seconds: 0.1) == .milliseconds(100))
        #expect(TimeSpan(seconds: -0.000_000_000_6) == .nanoseconds(-1))
        #expect(TimeSpan.microseconds(1500).milliseconds == 1.5)
        #expect(TimeSpan(.seconds(1) + .nanoseconds(5)) == .nanoseconds(1_000_000_005))
        #expect(TimeSpan.milliseconds(40).duration == .milliseconds(40))
        #expect(TimeSpan.zero < .nanoseconds(1))
    }

    @Test("the earlier of two deadlines ignores an absent one")
    func earlierDeadline() {
        let (early, late) = (Instant(nanoseconds: 1), Instant(nanoseconds: 2))
        #expect(Instant.earlier(nil, nil) == nil)
        #expect(Instant.earlier(early, nil) == early && Instant.earlier(nil, late) == late)
        #expect(Instant.earlier(late, early) == early)
        #expect(late - early == .nanoseconds(1) && early + .nanoseconds(1) == late)
    }

    @Test("a clock's ticks are rounded to the nearest, away from zero at the half")
    func ticks() {
        #expect(ClockRate.video.ticks(in: .milliseconds(20)) == 1800)
        #expect(ClockRate.video.ticks(in: .nanoseconds(5_555)) == 0)
        #expect(ClockRate.video.ticks(in: .nanoseconds(5_556)) == 1)
        #expect(ClockRate.video.ticks(in: .nanoseconds(-5_556)) == -1)
        #expect(ClockRate.opus.ticks(in: .seconds(1_000_000_000)) == 48_000_000_000_000)
        #expect(ClockRate.opus.span(ofTicks: 960) == .milliseconds(20))
        #expect(ClockRate.video.span(ofTicks: -90_001) == .nanoseconds(-1_000_011_111))
        #expect(MediaTime(ticks: 45_000, rate: .video).span == .milliseconds(500))
    }

    @Test("ticks are unchanged after conversion to a time span and back")
    func tickRoundTrip() {
        for rate in [ClockRate.video, .opus, ClockRate(hertz: 8000), ClockRate(hertz: 44_100)] {
            for ticks in [0, 1, -1, 44_099, 1_234_567, -987_654_321, 1 << 33] as [Int64] {
                #expect(rate.ticks(in: rate.span(ofTicks: ticks)) == ticks)
            }
        }
    }

    @Test("RFC 3550, section 4: NTP timestamps count seconds from 1900 and their fraction")
    func ntp() {
        let epoch = UInt64(2_208_988_800) << 32
        #expect(WallTime(millisecondsSinceEpoch: 0).ntpTimestamp == epoch)
        #expect(WallTime(millisecondsSinceEpoch: 500).ntpTimestamp == epoch + 0x8000_0000)
        #expect(WallTime(millisecondsSinceEpoch: -250).ntpTimestamp == epoch - 0x4000_0000)
        #expect(WallTime(ntpTimestamp: 0).nanosecondsSinceEpoch == -2_208_988_800_000_000_000)
        #expect(WallTime(ntpTimestamp: 2_208_988_801 << 32).millisecondsSinceEpoch == 1000)
        // Half of the last bit of the fraction rounds to a whole nanosecond.
        #expect(WallTime(ntpTimestamp: 2_208_988_800 << 32 | 4).nanosecondsSinceEpoch == 1)
    }

    @Test("wall time changes by at most 1 ns in conversion to NTP and back")
    func ntpRoundTrip() {
        for nanoseconds in [0, 1, 999_999_999, 1_700_000_000_123_456_789, -1, -1_500_000_000] as [Int64] {
            let time = WallTime(nanosecondsSinceEpoch: nanoseconds)
            let difference = WallTime(ntpTimestamp: time.ntpTimestamp) - time
            #expect(difference.magnitude <= .nanoseconds(1), "\(nanoseconds)")
        }
    }

    @Test("a reference converts between the monotonic and the wall clock")
    func clockReference() {
        let reference = WallClockReference(
            instant: Instant(nanoseconds: 50), wallTime: WallTime(millisecondsSinceEpoch: 1_000))
        #expect(reference.wallTime(at: Instant(nanoseconds: 1_000_050)) == WallTime(millisecondsSinceEpoch: 1_001))
        #expect(reference.instant(at: WallTime(millisecondsSinceEpoch: 999)) == Instant(nanoseconds: 50 - 1_000_000))
    }
}

@Suite struct TimestampTests {
    @Test("times are written in UTC with milliseconds, and parsed again") func roundTrip() {
        let time = WallTime(millisecondsSinceEpoch: 1_618_947_999_877)
        #expect(Timestamp.text(time) == "2021-04-20T19:46:39.877Z")
        #expect(Timestamp.parse(Timestamp.text(time)) == time)
    }

    @Test("the date of HTTP is parsed, and its obsolete forms and other text are not") func httpDate() {
        #expect(
            Timestamp.parse(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT")
                == WallTime(millisecondsSinceEpoch: 784_111_777_000))
        let others = [
            "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37Z GMT",
        ]
        for other in others { #expect(Timestamp.parse(httpDate: other) == nil, "\(other)") }
    }

    @Test("every day from 1700 to 2200 is written like Foundation does") func everyDay() {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for day in stride(from: Int64(-98_615), to: 84_000, by: 7) {
            let seconds = day * 86_400 + (day % 86_400 + 86_400) % 86_400
            let time = WallTime(millisecondsSinceEpoch: seconds * 1_000)
            let text = Date(timeIntervalSince1970: Double(seconds)).formatted(style)
            #expect(Timestamp.text(time) == text)
            #expect(Timestamp.parse(text) == time)
        }
    }

    @Test(
        "fractions and offsets are parsed",
        arguments: [
            ("2021-04-20T19:46:39Z", 0), ("2021-04-20T19:46:39.5Z", 500), ("2021-04-20T19:46:39.123456Z", 123),
            ("2021-04-20t21:46:39+02:00", 0), ("2021-04-20 14:16:39.000-05:30", 0),
        ] as [(String, Int64)])
    func forms(text: String, milliseconds: Int64) {
        #expect(Timestamp.parse(text) == WallTime(millisecondsSinceEpoch: 1_618_947_999_000 + milliseconds))
    }

    @Test("times out of range become the last representable time") func bounds() throws {
        let last = try #require(Timestamp.parse("9999-12-31T23:59:60Z"))
        #expect(last > WallTime(millisecondsSinceEpoch: 8_000_000_000_000))
        let first = try #require(Timestamp.parse("0000-01-01T00:00:00Z"))
        #expect(first < WallTime(millisecondsSinceEpoch: -8_000_000_000_000))
    }

    @Test(
        "an invalid time is rejected",
        arguments: [
            "", "yesterday", "2021-13-40T00:00:00Z", "2021-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2021-04-20",
            "2021-04-20T24:00:00Z", "2021-04-20T23:60:00Z", "2021-04-20T23:00:61Z", "2021-04-20T23:00:00",
            "2021-4-20T23:00:00Z",
            "2021-04-20T23:00:00.Z", "2021-04-20T23:00:00+2:00", "2021-04-20T23:00:00Z ", "+021-04-20T23:00:00Z",
        ])
    func malformed(text: String) { #expect(Timestamp.parse(text) == nil) }
}

struct ISO8601DurationTests {
    @Test(
        "durations of ISO 8601 are parsed",
        arguments: [
            ("PT10S", 10_000), ("pt0.5s", 500), ("PT0.5S", 500), ("PT1H30M", 5_400_000), ("P1D", 86_400_000),
            ("P1DT12H", 129_600_000), ("PT0S", 0),
        ])
    func read(_ text: String, _ milliseconds: Int64) {
        #expect(TimeSpan(iso8601: text) == .milliseconds(milliseconds))
    }

    @Test(
        "an invalid duration, or one without a fixed length, is rejected",
        arguments: [
            "", "P", "PT", "T5S", "5S", "P1", "PT5", "PT1S1M", "P1H", "PTS", "P1Y", "P1M", "P2W", "PT-5S", "-PT5S",
            "PT1e3S", "PT.5S", "PT5.S", "PT٣S", "P99999D", "PT999999999999H", " PT5S", "PT5S ",
        ])
    func refuse(_ text: String) {
        #expect(TimeSpan(iso8601: text) == nil)
    }
}
