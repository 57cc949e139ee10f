import PCastCore
import Testing

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
