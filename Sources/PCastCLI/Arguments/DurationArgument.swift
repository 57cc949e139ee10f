import ArgumentParser
import PCastMedia

/// A length of time as people type it: `500ms`, `10s`, `5m`, `1h`, `1.5s`, or a duration of ISO 8601 in days, hours,
/// minutes and seconds: `PT10S`, `P1DT12H`. At most 100 years.
struct DurationArgument: ExpressibleByArgument, Equatable {
    let span: TimeSpan

    init(_ span: TimeSpan) { self.span = span }

    init?(argument: String) {
        let text = argument.lowercased()
        guard let seconds = text.hasPrefix("p") ? Self.secondsOfISO8601(text.dropFirst()) : Self.secondsOfUnit(text),
            seconds <= 100 * 365.25 * 86_400
        else { return nil }
        span = TimeSpan(seconds: seconds)
    }

    private static func secondsOfUnit(_ text: String) -> Double? {
        for (unit, factor) in [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600)] where text.hasSuffix(unit) {
            return number(text.dropLast(unit.count)).map { $0 * factor }
        }
        return nil
    }

    private static func secondsOfISO8601(_ text: Substring) -> Double? {
        let halves = text.split(separator: "t", maxSplits: 1, omittingEmptySubsequences: false)
        guard let date = fields(halves[0], units: [("d", 86_400)]) else { return nil }
        guard halves.count == 2 else { return halves[0].isEmpty ? nil : date }
        guard !halves[1].isEmpty, let time = fields(halves[1], units: [("h", 3_600), ("m", 60), ("s", 1)])
        else { return nil }
        return date + time
    }

    /// Numbers, each with its unit, in the order of `units`.
    private static func fields(_ text: Substring, units: [(Character, Double)]) -> Double? {
        var rest = text
        var sum = 0.0
        for (unit, factor) in units {
            guard let end = rest.firstIndex(of: unit) else { continue }
            guard let value = number(rest[..<end]) else { return nil }
            sum += value * factor
            rest = rest[rest.index(after: end)...]
        }
        return rest.isEmpty ? sum : nil
    }

    /// Digits, and a fraction perhaps; nothing else that `Double` reads.
    private static func number(_ text: Substring) -> Double? {
        guard text.count <= 12, text.first?.isNumber == true, text.last?.isNumber == true,
            text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") })
        else { return nil }
        return Double(text)
    }
}
