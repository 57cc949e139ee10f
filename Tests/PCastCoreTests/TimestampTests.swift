import Foundation
import PCastCore
import Testing

@Suite struct TimestampTests {
    @Test("times are written in UTC with milliseconds, and parsed again") func roundTrip() {
        let time = WallTime(millisecondsSinceEpoch: 1_618_947_999_877)
        #expect(Timestamp.text(time) == "2021-04-20T19:46:39.877Z")
        #expect(Timestamp.parse(Timestamp.text(time)) == time)
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
