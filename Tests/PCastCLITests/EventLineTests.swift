import PCastCore
import PCastJSON
import Testing

@testable import PCastCLI

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

    @Test("an unknown or infinite metric is null")
    func unknown() {
        #expect(JSONValue.figure(nil) == .null)
        #expect(JSONValue.figure(.nan) == .null)
        #expect(JSONValue.measured(.infinity) == .null)
        #expect(JSONValue.measured(1.23456).text == "1.235")
        #expect(JSONValue.count(UInt64(12)).text == "12")
    }
}
