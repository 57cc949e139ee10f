import PCastCore
import Testing

@testable import PCastCLI

struct DurationArgumentTests {
    @Test(
        "durations have units or the form of ISO 8601",
        arguments: [
            ("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("1.5s", 1_500), ("0s", 0),
            ("PT10S", 10_000), ("pt0.5s", 500), ("PT1H30M", 5_400_000), ("P1D", 86_400_000),
            ("P1DT12H", 129_600_000), ("10S", 10_000),
        ])
    func read(_ text: String, _ milliseconds: Int64) {
        #expect(DurationArgument(argument: text)?.span == .milliseconds(milliseconds))
    }

    @Test(
        "an invalid duration is rejected",
        arguments: [
            "", "10", "s", "ms", "-5s", "+5s", "1e3s", "infs", "nans", "0x10s", "5 s", "1.s", ".5s", "1.2.3s", "P",
            "PT",
            "P1", "PT5", "PT1S1M", "P1H", "PTS", "10d", "999999999999h", "1234567890123s", "٣s",
        ])
    func refuse(_ text: String) {
        #expect(DurationArgument(argument: text) == nil)
    }
}
