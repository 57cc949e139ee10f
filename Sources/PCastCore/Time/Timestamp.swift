/// Text forms of times in UTC with milliseconds (RFC 3339, a profile of ISO 8601).
package enum Timestamp {
    /// Returns the text of a time, such as `2026-11-21T18:30:00.125Z`.
    package static func text(_ time: WallTime) -> String {
        let milliseconds = time.millisecondsSinceEpoch
        let seconds = milliseconds.flooringDivision(by: 1_000)
        let days = seconds.flooringDivision(by: 86_400)
        let (year, month, day) = GregorianCalendar.date(ofDay: days)
        let rest = seconds - days * 86_400
        return [digits(year, 4), digits(month, 2), digits(day, 2)].joined(separator: "-") + "T"
            + [digits(rest / 3_600, 2), digits(rest / 60 % 60, 2), digits(rest % 60, 2)].joined(separator: ":") + "."
            + digits(milliseconds - seconds * 1_000, 3) + "Z"
    }

    /// Parses a time with an optional fraction of a second, in UTC or with an offset; nil for other text. A time
    /// outside the range of `WallTime` becomes its first or last one.
    package static func parse(_ text: String) -> WallTime? {
        var rest = Substring(text).utf8
        guard let year = number(&rest, 4), take(&rest, "-"), let month = number(&rest, 2), take(&rest, "-"),
            let day = number(&rest, 2), take(&rest, "Tt "), let hour = number(&rest, 2), take(&rest, ":"),
            let minute = number(&rest, 2), take(&rest, ":"), let second = number(&rest, 2),
            (1...12).contains(month), day >= 1, day <= GregorianCalendar.days(in: month, of: year), hour < 24,
            minute < 60,
            second <= 60, let fraction = fraction(&rest), let offset = offset(&rest), rest.isEmpty
        else { return nil }
        let seconds = GregorianCalendar.day(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        let bound: Int64 = 9_000_000_000_000
        return WallTime(millisecondsSinceEpoch: min(max(seconds * 1_000 + fraction, -bound), bound))
    }

    /// Parses the `Date` field of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7); nil for other
    /// text. The obsolete forms are not accepted.
    package static func parse(httpDate text: String) -> WallTime? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].utf8.count == 4, words[0].hasSuffix(","), words[5] == "GMT",
            let month = months.firstIndex(of: String(words[2]))
        else { return nil }
        return parse("\(words[3])-\(digits(Int64(month + 1), 2))-\(words[1])T\(words[4])Z")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    // MARK: Parts

    private static func digits(_ value: Int64, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(count - text.count, 0)) + text
    }

    private static func take(_ rest: inout Substring.UTF8View, _ characters: String) -> Bool {
        guard let first = rest.first, characters.utf8.contains(first) else { return false }
        rest.removeFirst()
        return true
    }

    private static func number(_ rest: inout Substring.UTF8View, _ count: Int) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return Int64(Substring(digits))
    }

    /// Parses the fraction of a second in milliseconds; 0 if there is none, nil if it has no digits.
    private static func fraction(_ rest: inout Substring.UTF8View) -> Int64? {
        guard take(&rest, ".") else { return 0 }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        return Int64((Substring(digits.prefix(3)) + "00").prefix(3))
    }

    /// Parses the offset in seconds east of Greenwich; nil for other text.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
        if take(&rest, "Zz") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take(&rest, "+-"), let hours = number(&rest, 2), take(&rest, ":"), let minutes = number(&rest, 2),
            hours < 24, minutes < 60
        else { return nil }
        return (hours * 3_600 + minutes * 60) * (isWest ? -1 : 1)
    }
}

/// The proleptic Gregorian calendar in UTC. Its calculations use years that begin in March, so that leap days are last.
package enum GregorianCalendar {
    /// Returns the number of days of a month, 1 to 12.
    package static func days(in month: Int64, of year: Int64) -> Int64 {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeapYear ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Returns the number of days since 1970-01-01.
    package static func day(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let era = year.flooringDivision(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns the date of a day, counted from 1970-01-01.
    package static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted.flooringDivision(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    /// Returns the quotient, rounded towards negative infinity.
    fileprivate func flooringDivision(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
