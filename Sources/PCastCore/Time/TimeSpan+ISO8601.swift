extension TimeSpan {
    /// Parses an ISO 8601 duration of days, hours, minutes and seconds, such as `PT10S`, `PT0.5S` or `P1DT12H`, in
    /// either case. It is nil for other text, for years, months and weeks, and for more than 100 years.
    public init?(iso8601 text: String) {
        let text = text.lowercased()
        guard text.hasPrefix("p"), let seconds = Self.seconds(text.dropFirst()), seconds <= Self.longestDuration else {
            return nil
        }
        self = TimeSpan(seconds: seconds)
    }

    private static let longestDuration = 100 * 365.25 * 86_400

    private static func seconds(_ text: Substring) -> Double? {
        let halves = text.split(separator: "t", maxSplits: 1, omittingEmptySubsequences: false)
        guard let date = sum(halves[0], units: [("d", 86_400)]) else { return nil }
        guard halves.count == 2 else { return halves[0].isEmpty ? nil : date }
        guard !halves[1].isEmpty, let time = sum(halves[1], units: [("h", 3_600), ("m", 60), ("s", 1)])
        else { return nil }
        return date + time
    }

    /// Returns the sum of numbers with units, in the order of `units`; nil for other text.
    private static func sum(_ text: Substring, units: [(Character, Double)]) -> Double? {
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

    /// Parses digits with an optional fraction; nil for other text that `Double` accepts.
    private static func number(_ text: Substring) -> Double? {
        guard text.count <= 12, text.first?.isNumber == true, text.last?.isNumber == true,
            text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") })
        else { return nil }
        return Double(text)
    }
}
