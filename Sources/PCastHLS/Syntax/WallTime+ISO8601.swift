internal import PCastCore

extension WallTime {
    /// Parses an ISO 8601 date with time, e.g. `2026-11-22T05:13:16.250+01:00` (RFC 8216, section 4.3.2.6). Returns nil
    /// if it is malformed or the year is not between 1700 and 2200, which fit into 64 bits of nanoseconds.
    ///
    /// The time zone may have no colon, and UTC is assumed if it is missing.
    ///
    /// - Parameter text: The date, which may have spaces around it.
    init?(iso8601 text: PlaylistText) {
        var reader = DigitReader(text.trimmed)
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
            let day = reader.number(2), reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2)
        else { return nil }
        // The second 60 is a leap second, which POSIX time does not count.
        guard let second = reader.skip(":") ? reader.number(2) : 0, (1700...2200).contains(year),
            (1...12).contains(month), day >= 1, day <= GregorianCalendar.days(in: month, of: year), hour <= 23,
            minute <= 59,
            second <= 60, let fraction = reader.skip(".") || reader.skip(",") ? reader.fraction() : 0,
            let offset = reader.zone(), reader.isAtEnd
        else { return nil }
        let days = GregorianCalendar.day(year, month, day)
        let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
        // The time zone may move the time out of the accepted years.
        let first = GregorianCalendar.day(1700, 1, 1) * 86_400
        let end = GregorianCalendar.day(2201, 1, 1) * 86_400
        guard seconds >= first, seconds < end else { return nil }
        self.init(nanosecondsSinceEpoch: seconds * 1_000_000_000 + fraction)
    }

    /// The time in UTC with three, six or nine digits after the second, as many as it needs.
    var iso8601: String {
        var (seconds, fraction) = nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: 1_000_000_000)
        if fraction < 0 {
            seconds -= 1
            fraction += 1_000_000_000
        }
        let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        let second = seconds - days * 86_400
        let (year, month, day) = GregorianCalendar.date(ofDay: days)
        func padded(_ number: Int64, _ count: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
        }
        var digits = padded(fraction, 9)
        while digits.utf8.count > 3, digits.hasSuffix("000") { digits.removeLast(3) }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(second / 3_600, 2)):"
            + "\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2)).\(digits)Z"
    }
}

/// Reads the fields of a date.
private struct DigitReader {
    private var rest: PlaylistText

    init(_ text: PlaylistText) { rest = text }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the value of exactly `count` digits; nil if there are fewer.
    mutating func number(_ count: Int) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, let number = digits.decimal() else { return nil }
        rest = rest.dropFirst(count)
        return number
    }

    /// Skips a character. Returns false if the next character is another one.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Returns a fraction of a second in nanoseconds; further digits are cut off. Returns nil if there are no digits.
    mutating func fraction() -> Int64? {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest[digits.endIndex...]
        var fraction: Int64 = 0
        for byte in digits.prefix(9) { fraction = fraction * 10 + Int64(byte - 0x30) }
        for _ in 0..<max(0, 9 - digits.count) { fraction *= 10 }
        return fraction
    }

    /// Returns the offset of a time zone from UTC in minutes, 0 if it is missing; nil if it is malformed.
    mutating func zone() -> Int64? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let sign: Int64 = skip("-") ? -1 : 1
        guard sign == -1 || skip("+"), let hours = number(2), hours <= 23 else { return nil }
        guard !isAtEnd else { return sign * hours * 60 }
        _ = skip(":")
        guard let minutes = number(2), minutes <= 59 else { return nil }
        return sign * (hours * 60 + minutes)
    }
}
