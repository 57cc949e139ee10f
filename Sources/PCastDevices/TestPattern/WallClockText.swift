import PCastCore

/// The date and the time of day in UTC, as the test pattern shows them.
struct WallClockText {
    /// The date, such as `2026-11-21`.
    let date: String

    /// The time, such as `14:03:27.120`.
    let clock: String

    init(_ time: WallTime) {
        let milliseconds = time.millisecondsSinceEpoch
        let day = (milliseconds - (milliseconds % 86_400_000 + 86_400_000) % 86_400_000) / 86_400_000
        let rest = Int(milliseconds - day * 86_400_000)
        clock =
            Self.padded(rest / 3_600_000, 2) + ":" + Self.padded(rest / 60_000 % 60, 2) + ":"
            + Self.padded(rest / 1_000 % 60, 2) + "." + Self.padded(rest % 1_000, 3)
        let (year, month, dayOfMonth) = Self.civil(daysSinceEpoch: Int(day))
        date = "\(year)-" + Self.padded(month, 2) + "-" + Self.padded(dayOfMonth, 2)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Returns the Gregorian date. Years are counted from March, so that the leap day is the last one (eras of 400
    /// years).
    private static func civil(daysSinceEpoch: Int) -> (year: Int, month: Int, day: Int) {
        let days = daysSinceEpoch + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
